import MakoStorage

extension RowScan {
    /// The same as ``walkEntries(_:_:_:_:telling:isReversed:_:)`` without the entries that say nothing new.
    func walkRuns(
        _ index: IndexHandle, _ ranges: [KeyRange], _ cover: IndexCover, _ skip: EntrySkip, _ layout: RowLayout,
        _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        for range in plan.isReversed ? ranges.reversed() : ranges {
            var rest: KeyRange? = range
            while let part = rest {
                let run = EntryRun(skip.parts)
                var goesOn = true
                try walkEntries(index, [part], cover, layout, telling: run) { key, row in
                    goesOn = try body(key, row)
                    return goesOn && !run.isLong
                }
                guard goesOn else { return }
                if !run.isLong { break }
                if let next = skip.next {
                    let values = skip.values(behind: run.prefix).clipped(to: part)
                    guard try lendEnds(index, values, cover, skip.parts + [next], layout, body) else { return }
                }
                rest = behind(run.prefix, part)
            }
        }
    }

    /// What is left of a stretch when the entries that begin so are passed over.
    private func behind(_ prefix: [UInt8], _ range: KeyRange) -> KeyRange? {
        if plan.isReversed { return KeyRange(lower: range.lower, upper: prefix) }
        return KeyRange.successor(prefix).map { KeyRange(lower: $0, upper: range.upper) }
    }

    /// The rows of the first and the last entry of a stretch that hold some columns, and of those that stand before them there: where an entry
    /// stands that does not hold its columns says nothing of its row.
    private func lendEnds(
        _ index: IndexHandle, _ range: KeyRange, _ cover: IndexCover, _ parts: [IndexCover.Part], _ layout: RowLayout,
        _ body: (RowKey, RowReader) throws -> Bool
    ) throws -> Bool {
        if range.isEmpty { return true }
        for isLast in [false, true] {
            let run = EntryRun(parts)
            var goesOn = true
            try walkEntries(index, [range], cover, layout, telling: run, isReversed: isLast) { key, row in
                goesOn = try body(key, row)
                return goesOn && run.isDamaged
            }
            if !goesOn { return false }
        }
        return true
    }
}

/// Entries that come one behind the other and begin alike.
final class EntryRun {
    private let parts: [IndexCover.Part]
    private(set) var prefix: [UInt8] = []
    /// Whether the last entry does not hold the columns.
    private(set) var isDamaged = false
    private var count = 0

    /// - Parameter parts: the columns that entries which begin alike agree in.
    init(_ parts: [IndexCover.Part]) { self.parts = parts }

    var isLong: Bool { count >= EntrySkip.patience }

    /// - Parameter entry: nil: it was cut, and tells nothing.
    func take(_ entry: UnsafeRawBufferPointer?) {
        isDamaged = false
        guard let entry else {
            count = 0
            return
        }
        if count > 0, IndexGroups.begins(entry, with: prefix) {
            count += 1
        } else if let length = EntryRow.length(of: parts, in: entry) {
            prefix = Array(entry[..<length])
            count = 1
        } else {
            count = 0
            isDamaged = true
        }
    }
}
