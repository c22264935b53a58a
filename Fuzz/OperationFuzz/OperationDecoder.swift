import MakoStorage
import MakoTestSupport

/// Reads a script and faults from bytes. Every byte string is one, and a small change of the bytes is a small change of the script.
///
/// The first byte holds the sizes of log segment, cache and sector, and whether the store holds something before; the second is the seed of
/// how it ends; the third says how many faults there are. A fault has three bytes: its kind, and the number of the call it befalls. The
/// rest are steps: a byte that says which, and what that one needs. Bytes beyond the end read as 0.
struct OperationDecoder {
    struct Trial {
        var script: Script
        var faults: [Int: Fault]
        var isFilled: Bool
        var seed: UInt64
    }

    private var rest: ArraySlice<UInt8>
    private static let stepLimit = 32

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func decode() -> Trial {
        var script = Script(name: "operations", steps: [])
        script.isLenient = true
        let sizes = byte()
        script.logSegmentBytes = [16 << 10, 16 << 10, 32 << 10, 64 << 10][Int(sizes & 3)]
        script.cacheBytes = sizes & 4 == 0 ? 256 << 10 : 1 << 20
        script.sectorBytes = sizes & 8 == 0 ? 4096 : 512
        let seed = UInt64(byte())
        var faults: [Int: Fault] = [:]
        for _ in 0..<byte() % 4 {
            let kind = byte()
            faults[Int(byte()) | Int(byte() & 3) << 8] = fault(kind)
        }
        // After a failed sync the system's cache differs from the disk, so no process may continue from it.
        let hasFailedSync = faults.values.contains { if case .syncFails = $0 { true } else { false } }
        while !rest.isEmpty, script.steps.count < OperationDecoder.stepLimit {
            let step = step()
            script.steps.append(hasFailedSync && step == .kill ? .crash(1) : step)
        }
        return Trial(script: script, faults: faults, isFilled: sizes & 16 == 0, seed: seed)
    }

    private mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    private func fault(_ kind: UInt8) -> Fault {
        switch kind % 12 {
        case 0: .inputOutput
        case 1: .noSpace
        case 2: .persistentError(28)
        case 3: .persistentError(5)
        case 4, 5: .crashBefore
        case 6, 7: .crashAfter
        case 8: .syncFails(.keepsNewContent)
        case 9: .syncFails(.restoresOldContent)
        case 10: .short(Int(kind) * 3)
        default: .interrupted
        }
    }

    private mutating func step() -> ScriptStep {
        let kind = byte()
        switch kind % 24 {
        case 0: return .begin
        case 1: return .commit([nil, .full, .ordered, .async][Int(kind / 24 % 4)])
        case 2: return .rollback
        case 3: return .savepoint(name("p"))
        case 4: return .rollbackTo(name("p"))
        case 5: return .checkpoint
        case 6: return .step(1 + Int(kind / 24 % 4))
        case 7: return .snapshot(name("s"))
        case 8: return .check(name("s"))
        case 9: return .release(name("s"))
        case 10: return .reopen
        case 11: return .kill
        case 12: return .crash(kind / 24 == 0 ? nil : UInt64(kind))
        case 13: return .verify
        case 14: return kind / 24 % 2 == 0 ? .drop(name("t")) : .rename(name("t"), name("t"))
        case 15: return .deleteAll(name("t"))
        case 16:
            let first = UInt64(byte())
            if kind / 24 % 4 == 3 { return .deleteRange(name("t"), first, nil) }
            return .deleteRange(name("t"), first, first + UInt64(byte()))
        case 17, 18: return .delete(name("t"), keys())
        case 19 where kind / 24 % 4 == 1:
            // Each of them has pages of its own.
            let first = UInt64(byte())
            return .stream(name("t"), .steps(from: first, through: first + UInt64(byte() & 1), by: 1), shape())
        case 19 where kind / 24 % 4 == 2: return .load(name("t"), keys(), shape())
        case 19: return .insert(name("t"), keys(), shape())
        case 20:
            return .tree(
                name("t"), kind / 24 % 2 == 0 ? .integer : .bytes, keyBytes: Int(byte()) * 3,
                options: kind / 24 % 4 < 2 ? [] : .subtreeCounts)
        default: return .put(name("t"), keys(), shape())
        }
    }

    /// One of three.
    private mutating func name(_ letter: String) -> String { letter + String(byte() % 3) }

    /// Up to 16 keys, ascending, descending or far from each other.
    private mutating func keys() -> KeyRange {
        let first = UInt64(byte())
        let shape = byte()
        let count = UInt64(shape & 15)
        switch shape >> 5 {
        case 0, 1, 2: return .steps(from: first, through: first + count, by: 1)
        case 3, 4: return .steps(from: first + count, through: first, by: 1)
        case 5: return .steps(from: first, through: first + count * 7, by: 7)
        default: return .random(count: Int(count) + 1, below: first + 1)
        }
    }

    /// The longest of them are named in the log.
    private mutating func shape() -> ValueShape {
        let shape = byte()
        let size = Int(shape & 7)
        let bytes = [0, 10, 40, 100, 300, 700, 1500, 4000][size] + Int(shape >> 4) * (size == 7 ? 700 : 1)
        return ValueShape(bytes: bytes, isCompressible: shape & 8 != 0)
    }
}
