import MakoStorage

/// A reader beside the store of a script, as another process has it: with handles, memory and snapshots of its own.
final class ScriptReader {
    private let store: Store
    /// The state that was shown last.
    private var latest = 0
    private var kept: [(snapshot: Snapshot, state: Int)] = []
    private var looks = 0

    init(path: String, options: StoreOptions) throws { store = try Store(at: path, options: options) }

    /// Refreshes, compares with the states that may be shown, and answers which it is.
    func look(_ states: [ModelStore], _ span: CrashSpan, _ name: String) throws -> Int {
        try store.refresh()
        let snapshot = try store.snapshot()
        let found = try ModelStore(reading: snapshot)
        let first = max(latest, span.acknowledged)
        guard let index = states[first...span.begun].firstIndex(where: { $0.trees == found.trees }) else {
            throw Disagreement(
                "reader \(name) shows none of the states \(first)...\(span.begun): "
                    + (found.difference(from: states[first]) ?? ""))
        }
        latest = index
        // Older snapshots are what the writer must not write over.
        looks += 1
        if looks % 2 == 1 { kept.append((snapshot, index)) }
        if kept.count > 3 { kept.remove(at: looks % 4) }
        for old in kept {
            if let difference = try ModelStore(reading: old.snapshot).difference(from: states[old.state]) {
                throw Disagreement("reader \(name), a snapshot of before: \(difference)")
            }
        }
        return index
    }
}
