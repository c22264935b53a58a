import MakoStorage

extension RowScan {
    /// The same as ``scanEntries(_:_:_:reporting:isReversed:_:)``, as a skip scan.
    func scanRuns(
        _ index: IndexHandle, _ ranges: [KeyRange], _ made: IndexTuple, _ skip: SkipScan,
        _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        for range in plan.isReversed ? ranges.reversed() : ranges {
            var rest: KeyRange? = range
            while let part = rest {
                let run = IndexOnlyScan(skip.parts)
                var goesOn = true
                try scanEntries(index, [part], made, reporting: run) { key, row in
                    goesOn = try body(key, row)
                    return goesOn && !run.isLong
                }
                guard goesOn else { return }
                if !run.isLong { break }
                if let next = skip.next {
                    let values = skip.values(behind: run.prefix).clipped(to: part)
                    guard try visitEnds(index, values, made, skip.parts + [next], body) else { return }
                }
                rest = behind(run.prefix, part)
            }
        }
    }

    /// Returns the rest of a range after the entries with a prefix.
    private func behind(_ prefix: [UInt8], _ range: KeyRange) -> KeyRange? {
        if plan.isReversed { return KeyRange(lower: range.lower, upper: prefix) }
        return KeyRange.successor(prefix).map { KeyRange(lower: $0, upper: range.upper) }
    }

    /// Calls a closure with the rows of the first and the last entry of a range that hold some columns. Damaged entries
    /// before them are read as well, because the position of a damaged entry says nothing about its row.
    private func visitEnds(
        _ index: IndexHandle, _ range: KeyRange, _ made: IndexTuple, _ parts: [CoveringIndex.Part],
        _ body: (RowKey, RowReader) throws -> Bool
    ) throws -> Bool {
        if range.isEmpty { return true }
        for isLast in [false, true] {
            let run = IndexOnlyScan(parts)
            var goesOn = true
            try scanEntries(index, [range], made, reporting: run, isReversed: isLast) { key, row in
                goesOn = try body(key, row)
                return goesOn && run.isDamaged
            }
            if !goesOn { return false }
        }
        return true
    }
}

/// A run of adjacent index entries with equal first columns.
final class IndexOnlyScan {
    private let parts: [CoveringIndex.Part]
    private(set) var prefix: [UInt8] = []
    /// Whether the last entry does not hold the columns.
    private(set) var isDamaged = false
    private var count = 0

    /// - Parameter parts: the columns that the entries of a run share.
    init(_ parts: [CoveringIndex.Part]) { self.parts = parts }

    var isLong: Bool { count >= SkipScan.patience }

    /// - Parameter entry: the entry, or `nil` if its key is truncated.
    func take(_ entry: UnsafeRawBufferPointer?) {
        isDamaged = false
        guard let entry else {
            count = 0
            return
        }
        if count > 0, IndexGroups.begins(entry, with: prefix) {
            count += 1
        } else if let length = IndexTuple.length(of: parts, in: entry) {
            prefix = Array(entry[..<length])
            count = 1
        } else {
            count = 0
            isDamaged = true
        }
    }
}
