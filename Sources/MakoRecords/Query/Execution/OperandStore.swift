/// An operand that outlives its row; its text or blob is in an ``OperandStore``.
enum KeptOperand {
    case plain(Operand)
    case text(offset: Int, count: Int, room: Int)
    case blob(offset: Int, count: Int, room: Int)
}

/// Contiguous memory for the texts and blobs of kept operands.
struct OperandStore: ~Copyable {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var used = 0

    deinit { memory.deallocate() }

    /// - Parameter old: an operand that is replaced; its memory is reused if it is large enough.
    mutating func keep(_ operand: Operand, insteadOf old: KeptOperand = .plain(.null)) -> KeptOperand {
        switch operand {
        case .text(let bytes):
            let (offset, room) = put(bytes, old)
            return .text(offset: offset, count: bytes.count, room: room)
        case .blob(let bytes):
            let (offset, room) = put(bytes, old)
            return .blob(offset: offset, count: bytes.count, room: room)
        default: return .plain(operand)
        }
    }

    /// Discards all operands, but not the memory.
    mutating func clear() { used = 0 }

    /// The number of bytes held.
    var bytes: Int { memory.count }

    /// The end of the used memory.
    var end: Int { used }

    /// Discards what was added since ``end`` had this value.
    mutating func truncate(to end: Int) { used = end }

    /// Returns an operand, valid until another is kept.
    func operand(_ kept: KeptOperand) -> Operand {
        switch kept {
        case .plain(let operand): operand
        case .text(let offset, let count, _): .text(bytes(offset, count))
        case .blob(let offset, let count, _): .blob(bytes(offset, count))
        }
    }

    private func bytes(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[offset..<offset + count])
    }

    private mutating func put(_ bytes: UnsafeRawBufferPointer, _ old: KeptOperand) -> (offset: Int, room: Int) {
        switch old {
        case .text(let offset, _, let room) where room >= bytes.count,
            .blob(let offset, _, let room) where room >= bytes.count:
            write(bytes, offset)
            return (offset, room)
        case .text, .blob:
            // A value that has grown once may grow again.
            return (append(bytes, room: bytes.count * 2), bytes.count * 2)
        default:
            return (append(bytes, room: bytes.count), bytes.count)
        }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer, room: Int) -> Int {
        if memory.count - used < room {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(1024, (used + room) * 2), alignment: 8)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
            memory.deallocate()
            memory = larger
        }
        let offset = used
        used += room
        write(bytes, offset)
        return offset
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ offset: Int) {
        UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + bytes.count]).copyMemory(from: bytes)
    }
}
