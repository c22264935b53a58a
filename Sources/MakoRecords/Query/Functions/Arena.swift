/// Memory for the texts that expressions compute; freed at once for the next row.
struct Arena: ~Copyable {
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private var used = 0

    deinit {
        for block in blocks { block.deallocate() }
    }

    mutating func reset() {
        used = 0
        // Keeps the largest block only, so that one unusual row does not leave many blocks.
        while blocks.count > 1 { blocks.removeFirst().deallocate() }
    }

    private mutating func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
        if blocks.isEmpty || blocks[blocks.count - 1].count - used < count {
            let size = max(count, 2 * (blocks.last?.count ?? 512))
            blocks.append(.allocate(byteCount: size, alignment: 8))
            used = 0
        }
        let part = UnsafeMutableRawBufferPointer(rebasing: blocks[blocks.count - 1][used..<used + count])
        used += count
        return part
    }

    mutating func keep(_ text: String) -> UnsafeRawBufferPointer {
        let part = take(text.utf8.count)
        part.copyBytes(from: text.utf8)
        return UnsafeRawBufferPointer(part)
    }

    mutating func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let part = take(bytes.count)
        part.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(part)
    }

    mutating func join(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let part = take(first.count + second.count)
        part.copyBytes(from: first)
        UnsafeMutableRawBufferPointer(rebasing: part[first.count...]).copyBytes(from: second)
        return UnsafeRawBufferPointer(part)
    }

    /// The largest text that a function may return, in bytes.
    static let textLimit = 1 << 28

    /// Returns a text with each occurrence of a part replaced; the text itself if the part is empty.
    mutating func replace(
        _ part: UnsafeRawBufferPointer, by other: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer
    ) throws(RecordError) -> UnsafeRawBufferPointer {
        if part.isEmpty { return text }
        var count = 0
        var place = 0
        while let found = Calculation.offset(of: part, in: text, from: place) {
            count += 1
            place = found + part.count
        }
        if count == 0 { return text }
        let (growth, overflow) = count.multipliedReportingOverflow(by: other.count - part.count)
        if overflow || growth > Arena.textLimit - text.count {
            throw SourcePosition.none.error("replace would make a text of more than \(Arena.textLimit >> 20) MiB")
        }
        let whole = take(text.count + growth)
        var start = 0
        var filled = 0
        func fill(_ bytes: Slice<UnsafeRawBufferPointer>) {
            UnsafeMutableRawBufferPointer(rebasing: whole[filled...]).copyBytes(from: bytes)
            filled += bytes.count
        }
        while let found = Calculation.offset(of: part, in: text, from: start) {
            fill(text[start..<found])
            fill(other[...])
            start = found + part.count
        }
        fill(text[start...])
        return UnsafeRawBufferPointer(whole)
    }

    /// Returns the case-folded form.
    mutating func fold(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        // The lower case of a letter takes at most three times as many bytes.
        let part = take(text.count * 3)
        var count = 0
        Folding.forEachByte(of: text) {
            if count < part.count { part[count] = $0 }
            count += 1
        }
        return UnsafeRawBufferPointer(rebasing: part[..<min(count, part.count)])
    }
}

extension Arena {
    /// Returns a value as an operand, with its bytes copied to the arena.
    mutating func operand(_ value: Value) -> Operand {
        switch value {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .integer(let number): .integer(number)
        case .unsigned(let number): .unsigned(number)
        case .double(let number): .double(number)
        case .date(let seconds): .date(seconds)
        case .uuid(let high, let low): .uuid(high, low)
        case .text(let text): .text(keep(text))
        case .blob(let bytes): .blob(keep(bytes))
        }
    }
}
