import MakoRecords
import MakoStorage
import MakoTestSupport
import RandomRuns

/// A script of the record layer, for `CrashRunner`. What a transaction is about to leave is read before it commits.
struct RecordWorkload: CrashWorkload {
    let script: RecordScript

    func run(on disk: SimulatedDisk) throws -> CrashHistory<RecordState> {
        let store = try Store(at: "d/records.mako", options: options(disk))
        let run = try RecordRun(store, loadingFrom: script.fewestLoaded, on: disk) {
            try Store(at: "d/records.mako", options: options(disk))
        }
        var rest = script.steps[...]
        while let step = rest.popFirst() {
            if step == .begin {
                let end = rest.firstIndex { $0.isEnd } ?? rest.endIndex
                try run.transaction(Array(rest[..<end]), end: end < rest.endIndex ? rest[end] : .rollback)
                rest = rest[min(end + 1, rest.endIndex)...]
            } else if step.isChange {
                try run.transaction([step], end: .commit(nil))
            } else {
                try run.outside(step)
            }
        }
        try run.store.close()
        return run.history
    }

    func recover(on disk: SimulatedDisk, served: () -> Void) throws -> RecordState {
        let store = try Store(at: "d/records.mako", options: options(disk))
        let found = try store.read { try RecordState(reading: $0, history: true) }
        served()
        let report = try store.verify()
        guard report.isClean else { throw Disagreement("verify: \(report.findings)") }
        try store.close()
        return found
    }

    private func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 5)
        options.logSegmentBytes = script.logSegmentBytes
        options.checkpointBytes = script.logSegmentBytes / 2
        options.cacheBytes = script.cacheBytes
        return options
    }
}

/// One run of a script.
private final class RecordRun {
    let history: CrashHistory<RecordState>
    private(set) var store: Store
    private let fewestLoaded: Int
    private let reopen: () throws -> Store
    private var catalogue: Catalogue
    private var random = Seeded(11)
    /// The changes of the open transaction, for the history of the file.
    private var changes = ChangeSet()
    private var rewritten: [String] = []
    private var historyWriter = HistoryWriter(SeededEntropy(seed: 3))
    /// For columns of encrypted values, which stay without one where there is no encryption.
    private let cipher: ValueCipher?

    init(
        _ store: Store, loadingFrom fewestLoaded: Int, on disk: SimulatedDisk, reopen: @escaping () throws -> Store
    ) throws {
        self.store = store
        self.fewestLoaded = fewestLoaded
        self.reopen = reopen
        catalogue = try Catalogue.load(view: store.snapshot())
        let key = PropertyKey.key([UInt8](repeating: 9, count: 32))
        cipher = Encryption.isAvailable ? try ValueCipher.make(for: key, entropy: SeededEntropy(seed: 8)).cipher : nil
        history = CrashHistory(try RecordState(reading: store.snapshot(), history: true), on: disk)
    }

    func outside(_ step: RecordScript.Step) throws {
        switch step {
        case .checkpoint:
            try store.checkpoint()
            history.acknowledge()
        case .step(let count): for _ in 0..<count { _ = try store.step() }
        case .reopen:
            let expected = try RecordState(reading: store.snapshot(), history: true)
            try store.close()
            history.acknowledge()
            store = try reopen()
            catalogue = try Catalogue.load(view: store.snapshot())
            historyWriter = HistoryWriter(SeededEntropy(seed: 4))
            guard try RecordState(reading: store.snapshot(), history: true) == expected else {
                throw Disagreement("another state came back after reopening")
            }
        default: throw Disagreement("\(step) outside a transaction")
        }
    }

    func transaction(_ steps: [RecordScript.Step], end: RecordScript.Step) throws {
        let before = catalogue
        let tx = try store.beginWrite()
        var savepoints: [String: (Savepoint, Catalogue, ChangeSet)] = [:]
        (changes, rewritten) = (ChangeSet(), [])
        for step in steps {
            switch step {
            case .savepoint(let name): savepoints[name] = (tx.savepoint(), catalogue, changes)
            case .rollbackTo(let name):
                guard let (savepoint, saved, before) = savepoints[name] else {
                    throw Disagreement("no savepoint \(name)")
                }
                try tx.rollback(to: savepoint)
                (catalogue, changes) = (saved, before)
                historyWriter.invalidate()
            default: try change(step, tx)
            }
        }
        guard case .commit(let durability) = end else {
            tx.rollback()
            catalogue = before
            historyWriter.invalidate()
            return
        }
        if !changes.isEmpty || !rewritten.isEmpty {
            try historyWriter.append(changes, rewritten: rewritten, catalogue, before: before, date: 0, in: tx)
        }
        let latest = history.states.count - 1
        let state = try RecordState(reading: tx.view, history: true)
        history.begin(state)
        try tx.commit(durability: durability)
        // An empty commit promises nothing, not even for the commits before it.
        if durability == nil || durability == .full, state != history.states[latest] { history.acknowledge() }
    }

    private func change(_ step: RecordScript.Step, _ tx: borrowing WriteTransaction) throws {
        switch step {
        case .migrate(let schema, let dropsRetired, let byHand):
            let migration =
                byHand?.migration(to: schema, dropsRetired: dropsRetired)
                ?? TableMigration(schema, dropsRetired: dropsRetired)
            _ = try Catalogue.migrate([migration], loadingFrom: fewestLoaded, in: tx)
            rewritten.append(schema.name)
            catalogue = try Catalogue.load(view: tx.view, previous: catalogue)
        case .sql(let text):
            _ = try Statement.parse(text).run(catalogue, in: tx, changes: &changes)
            catalogue = try Catalogue.load(view: tx.view, previous: catalogue)
        case .history(let limits?): try historyWriter.begin(limits, date: 0, in: tx)
        case .history(nil): try historyWriter.end(in: tx)
        case .drop(let name):
            _ = try Catalogue.dropTable(name, in: tx)
            rewritten.append(name)
            catalogue = try Catalogue.load(view: tx.view, previous: catalogue)
        case .clear(let name):
            _ = try catalogue.requireTable(name).deleteAll(in: tx, changes: &changes)
        case .append(let name, let count):
            let table = try catalogue.requireTable(name)
            let batch = IndexBatch()
            for number in 0..<count {
                var row = try draft(table, Int64(10_000 + number))
                try table.insert(&row, in: tx, changes: &changes, batch: batch)
            }
            try batch.flush(in: tx)
        case .insert(let name, let keys):
            let table = try catalogue.requireTable(name)
            for number in numbers(keys) {
                var row = try draft(table, number)
                try table.insert(&row, key: rowID(number, table), in: tx, changes: &changes)
            }
        case .update(let name, let keys):
            let table = try catalogue.requireTable(name)
            for number in numbers(keys) {
                var row = try draft(table, number)
                guard try table.update(&row, key: key(number, table), in: tx, changes: &changes) else {
                    throw Disagreement("there is no row \(number) to update")
                }
            }
        case .delete(let name, let keys):
            let table = try catalogue.requireTable(name)
            for number in numbers(keys) { try table.delete(key(number, table), in: tx, changes: &changes) }
        case .move(let name, let keys, let distance):
            try move(try catalogue.requireTable(name), numbers(keys), by: distance, tx)
        default: throw Disagreement("\(step) inside a transaction")
        }
    }

    /// Gives rows other keys: their values are entered under the new key and leave the old one.
    private func move(
        _ table: TableHandle, _ numbers: [Int64], by distance: Int64, _ tx: borrowing WriteTransaction
    ) throws {
        let keys = table.schema.keyColumns
        for number in numbers {
            let old = key(number, table)
            let values = try table.withRow(old, in: tx.view) { row in (0..<table.layout.count).map { row.value($0) } }
            guard let values else { throw Disagreement("there is no row \(number) to move") }
            try table.delete(old, in: tx, changes: &changes)
            var row = RowWriter()
            row.begin(table.layout)
            for (position, column) in table.schema.liveColumns.enumerated() {
                let isKey = keys.contains(column.name)
                row.set(position, isKey ? RecordRun.keyValue(column.type, number + distance) : values[position])
            }
            try table.insert(&row, key: rowID(number + distance, table), in: tx, changes: &changes)
        }
    }

    // MARK: Rows

    private func numbers(_ keys: KeyRange) -> [Int64] { keys.keys(seed: random.next()).map(Int64.init) }

    private func rowID(_ number: Int64, _ table: TableHandle) -> RowKey? {
        if case .rowID = table.schema.key { .rowID(number) } else { nil }
    }

    private func key(_ number: Int64, _ table: TableHandle) -> RowKey {
        if let id = rowID(number, table) { return id }
        return RowKey(
            values: table.schema.keyColumns.map { name in
                RecordRun.keyValue(table.schema.column(named: name)?.type ?? .integer, number)
            })
    }

    /// A row whose key columns follow from its number, and whose other values are new each time.
    private func draft(_ table: TableHandle, _ number: Int64) throws -> RowWriter {
        var row = RowWriter()
        row.begin(table.layout)
        let keys = table.schema.keyColumns
        for (position, column) in table.schema.liveColumns.enumerated() {
            if keys.contains(column.name) {
                row.set(position, RecordRun.keyValue(column.type, number))
            } else if column.sealedType != nil, let cipher {
                try row.set(position, value(.text)) { () throws(PropertyKeyProblem) in cipher }
            } else if column.isOptional, random.chance(25) || column.sealedType != nil {
                row.set(position, .null)
            } else {
                row.set(position, value(column.type))
            }
        }
        return row
    }

    private static func keyValue(_ type: ColumnType, _ number: Int64) -> Value {
        switch type {
        case .text: .text("key \(number)")
        case .uuid: .uuid(1, UInt64(number))
        default: .integer(number)
        }
    }

    /// Values that differ from each other, so that unique indexes take them. Texts are numbers, so that a column can
    /// become one, and now and then long enough for an index to cut them.
    private func value(_ type: ColumnType) -> Value {
        switch type {
        case .integer, .reference: .integer(Int64(random.next() >> 32))
        case .unsigned: .unsignedInteger(random.next())
        case .double: .double(Double(random.next() >> 40))
        case .date: .date(Double(random.next() >> 40))
        case .bool: .bool(random.chance(50))
        case .uuid: .uuid(random.next(), random.next())
        case .text:
            .text(random.chance(5) ? String(repeating: "7", count: 700) + "\(random.next())" : "\(random.next() >> 32)")
        case .keys:
            .blob(
                KeyTree.list(
                    (0..<Int.random(in: 0..<6, using: &random)).map { _ in
                        .key(.rowID(Int64.random(in: 0..<40, using: &random)))
                    }
                ).encoded)
        case .blob: .blob((0..<(random.chance(5) ? 6000 : 30)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
    }
}

extension EntitySchema {
    fileprivate var keyColumns: [String] {
        if case .columns(let names) = key { names } else { [] }
    }
}
