import MakoRecords
import MakoStorage
import MakoTestSupport

/// The workload of `ScaleCommand`: a tree of random keys, or a table, and one transaction that changes it.
struct ScaleWork {
    let kind: ScaleCommand.Kind
    let count: Int
    let valueBytes: Int

    /// Whether the former entries are overwritten.
    var replaces: Bool {
        switch kind {
        case .updates, .deletes, .range, .migration: true
        case .puts, .index, .text: false
        }
    }

    // MARK: A tree

    /// Different for each number, in no order.
    private func key(_ number: Int) -> UInt64 {
        var random = SplitMix(seed: UInt64(number))
        return random.next()
    }

    private func value(_ number: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: valueBytes)
        for index in 0..<min(8, valueBytes) { bytes[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return bytes
    }

    private func tree(_ view: Snapshot) throws -> Tree {
        guard let tree = view.tree(named: "entries") else {
            throw RecordError.tableNotFound(name: "entries", nearest: nil)
        }
        return tree
    }

    // MARK: A table

    private static let table = EntitySchema(
        name: "Note",
        columns: [ColumnSchema("code", .integer), ColumnSchema("size", .text), ColumnSchema("body", .text)],
        key: .rowID(column: "id"))

    private var wanted: EntitySchema {
        var wanted = Self.table
        switch kind {
        case .index:
            wanted.indexes = [
                IndexSchema("Note.code", [IndexColumn("code")], isUnique: true),
                IndexSchema("Note.body", [IndexColumn("body"), IndexColumn("code")]),
            ]
        case .text: wanted.indexes = [IndexSchema("Note.words", [IndexColumn("body")], fullText: FullTextOptions())]
        default:
            wanted.columns[1].type = .integer
            wanted.columns.append(ColumnSchema("place", .text, default: .text("here")))
        }
        return wanted
    }

    private func body(_ number: Int) -> String {
        var random = SplitMix(seed: UInt64(number))
        return (0..<12).map { _ in "word\(random.below(3000))" }.joined(separator: " ")
    }

    // MARK: Steps

    /// Makes what the transaction begins with.
    func prepare(_ store: Store) throws {
        switch kind {
        case .puts: try store.write { _ = try $0.createTree(named: "entries", keys: .integer) }
        case .updates, .deletes, .range: try fillTree(store)
        case .index, .text, .migration: try fillTable(store)
        }
    }

    private func fillTree(_ store: Store) throws {
        let numbers = (0..<count).map { (key: key($0), number: $0) }.sorted { $0.key < $1.key }
        let tree = try store.write { try $0.createTree(named: "entries", keys: .integer) }
        _ = try store.write { tx in
            try tx.bulkLoad(into: tree) { load in
                for (key, number) in numbers { try load.append(value(number), for: key) }
            }
        }
    }

    private func fillTable(_ store: Store) throws {
        try store.write { tx in _ = try Catalogue.migrate(to: Self.table, in: tx) }
        for start in stride(from: 0, to: count, by: 50_000) {
            try store.write { tx in
                let handle = try Catalogue.load(view: tx.view).requireTable("Note")
                var changes = ChangeSet()
                var row = RowWriter()
                for number in start..<min(count, start + 50_000) {
                    row.begin(handle.layout)
                    row.set(0, .integer(Int64(bitPattern: key(number))))
                    row.set(1, .text("\(number)"))
                    row.set(2, .text(body(number)))
                    _ = try handle.insert(&row, key: nil, in: tx, changes: &changes)
                    changes.removeAll()
                }
            }
        }
    }

    /// The transaction.
    func run(in tx: borrowing WriteTransaction) throws {
        switch kind {
        case .puts, .updates:
            let tree = try tree(tx.view)
            let shift = kind == .updates ? 1 : 0
            for number in 0..<count { try tx.put(value(number + shift), for: key(number), in: tree) }
        case .deletes:
            let tree = try tree(tx.view)
            for number in 0..<count where number % 4 != 0 { _ = try tx.delete(key(number), in: tree) }
        case .range: _ = try tx.deleteRange(0...UInt64.max / 4 * 3, in: tree(tx.view))
        case .index, .text, .migration: _ = try Catalogue.migrate(to: wanted, in: tx)
        }
    }
}
