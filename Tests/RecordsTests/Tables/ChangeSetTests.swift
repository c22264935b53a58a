import MakoStorage
import Testing

@testable import MakoRecords

/// Each row once with its final state, in the order in which rows were first touched, whatever that order is.
@Suite struct ChangeSetTests {
    private struct Model {
        private struct Row: Hashable {
            let table: String
            let key: RowKey
        }

        private struct State {
            var kind: ChangeKind?
            /// The columns of an update; nil: all.
            var columns: Set<Int>?
        }

        private var order: [Row] = []
        private var states: [Row: State] = [:]

        mutating func record(_ table: String, _ key: RowKey, _ kind: ChangeKind, _ columns: Set<Int>? = nil) {
            let row = Row(table: table, key: key)
            guard let known = states[row] else {
                order.append(row)
                states[row] = State(kind: kind, columns: kind == .update ? columns : nil)
                return
            }
            switch (known.kind, kind) {
            case (nil, _): states[row] = State(kind: kind)
            case (.insert, .delete): states[row] = State()
            case (.update, .delete): states[row] = State(kind: .delete)
            case (.delete, .insert), (.delete, .update): states[row] = State(kind: .update)
            case (.update, .update):
                let both = known.columns.flatMap { old in columns.map { old.union($0) } }
                states[row] = State(kind: .update, columns: both)
            default: break
            }
        }

        var changes: [String] {
            order.compactMap { row in
                guard let state = states[row], let kind = state.kind else { return nil }
                return "\(row.table) \(row.key) \(kind)" + (state.columns.map { " \($0.sorted())" } ?? "")
            }
        }
    }

    private static func text(_ changes: ChangeSet) -> [String] {
        changes.changes.map { change in
            let columns = change.changedColumns
            return "\(change.table) \(change.key) \(change.kind)"
                + (columns.isAll ? "" : " \((0..<3).filter { columns.contains($0) })")
        }
    }

    private static func set(_ columns: Set<Int>?) -> ColumnSet {
        guard let columns else { return .all }
        var set = ColumnSet()
        for column in columns { set.insert(column) }
        return set
    }

    private static func tables() throws -> [TableHandle] {
        let fixture = try Fixture(
            EntitySchema(name: "A", columns: [ColumnSchema("n", .integer)]),
            EntitySchema(name: "B", columns: [ColumnSchema("n", .integer)]),
            EntitySchema(name: "C", columns: [ColumnSchema("n", .text)], key: .columns(["n"])))
        return try ["A", "B", "C"].map { try fixture.table($0) }
    }

    private static func key(_ table: TableHandle, _ id: Int64) -> RowKey {
        table.isRowID ? .rowID(id) : .bytes(Array("\(id)".utf8))
    }

    /// - Parameter step: how far ids go from one row to the next; 0: in any direction.
    @Test(arguments: [0, 1, 3]) func rowsAreReportedOnce(step: Int64) throws {
        let tables = try Self.tables()
        for seed in 0..<200 {
            var random = Seeded(UInt64(seed))
            var changes = ChangeSet()
            var nested = ChangeSet()
            var model = Model()
            var there: Set<String> = []
            var last: [String: Int64] = [:]
            for _ in 0..<random.pick([3, 40, 400]) {
                let table = random.pick(seed % 3 == 0 ? tables : Array(tables.prefix(1)))
                let next = last[table.schema.name, default: 0] + step
                let id = step == 0 || random.chance(5) ? Int64.random(in: -20...20, using: &random) : next
                last[table.schema.name] = id
                let key = Self.key(table, id)
                let name = "\(table.schema.name) \(key)"
                // What was never touched was there before, where ids are odd.
                let isTouched = there.contains(name) || there.contains("gone " + name)
                let isThere = there.contains(name) || (id & 1 == 1 && !isTouched)
                let kind: ChangeKind = isThere ? (seed % 4 == 1 ? .update : random.pick([.update, .delete])) : .insert
                if kind == .delete {
                    there.remove(name)
                    there.insert("gone " + name)
                } else {
                    there.insert(name)
                }
                // Mostly the same, so that rows go on with the one before them.
                let columns: Set<Int>? = random.chance(80) ? [1] : random.pick([nil, [0], [0, 2]])
                // In half of the runs every change is nested.
                let isNested = seed % 2 == 0 || random.chance(50)
                if !isNested {
                    changes.append(nested)
                    nested = ChangeSet()
                }
                if kind == .insert, !isTouched, table.isRowID, seed % 5 > 0 {
                    if isNested { nested.recordFresh(table, id) } else { changes.recordFresh(table, id) }
                } else if isNested {
                    nested.record(table, key, kind, Self.set(columns))
                } else {
                    changes.record(table, key, kind, Self.set(columns))
                }
                model.record(table.schema.name, key, kind, columns)
                if random.chance(10) {
                    changes.append(nested)
                    nested = ChangeSet()
                }
            }
            changes.append(nested)
            #expect(Set(Self.text(changes)) == Set(model.changes))
            #expect(changes.count == model.changes.count)
            if step > 0 && seed % 3 != 0 { #expect(changes.count == Set(Self.text(changes)).count) }
        }
    }

    @Test func theOrderIsThatOfTheFirstTouch() throws {
        let table = try Self.tables()[0]
        for ids in [[1, 2, 3, 2, 1], [3, 1, 2, 1], [5, 5], [2, 3, 1, 4, 3]] as [[Int64]] {
            var changes = ChangeSet()
            var model = Model()
            for id in ids {
                changes.record(table, .rowID(id), .update, .all)
                model.record("A", .rowID(id), .update)
            }
            #expect(Self.text(changes) == model.changes)
        }
    }

    /// A row extends a run of inserts only if its id follows the last one of the same table.
    @Test func aRowGoesOnWithTheLastOneOnly() throws {
        let tables = try Self.tables()
        var nested = ChangeSet()
        nested.record(tables[0], .rowID(4), .update, Self.set([0]))
        nested.recordFresh(tables[1], 9)
        var changes = ChangeSet()
        changes.append(nested)
        changes.recordFresh(tables[0], 5)
        #expect(Self.text(changes) == ["A 4 update [0]", "B 9 insert", "A 5 insert"])
    }

    @Test func noRunGoesFromTheHighestIDToTheLowest() throws {
        let table = try Self.tables()[0]
        var changes = ChangeSet()
        for id in [.max - 1, .max, .min] as [Int64] { changes.record(table, .rowID(id), .update, .all) }
        #expect(changes.changes.map(\.key) == [.rowID(.max - 1), .rowID(.max), .rowID(.min)])
    }

    /// Equal changes of rows with consecutive ids are stored as one run.
    @Test func whatHappensToRowsInARowIsKeptAsOne() throws {
        let table = try Self.tables()[0]
        var changes = ChangeSet()
        for id in Int64(1)...10 { changes.record(table, .rowID(id), .update, Self.set([0])) }
        for id in Int64(11)...12 { changes.record(table, .rowID(id), .update, Self.set([1])) }
        for id in Int64(13)...15 { changes.record(table, .rowID(id), .delete, .all) }
        changes.record(table, .rowID(17), .delete, .all)
        changes.recordFresh(table, 18)
        changes.recordFresh(table, 19)
        var runs: [String] = []
        changes.forEachRun { _, kind, _, key, count in runs.append("\(kind) \(key) \(count)") }
        #expect(runs == ["update 1 10", "update 11 2", "delete 13 3", "delete 17 1", "insert 18 2"])
        #expect(changes.count == 18)
    }

    /// Inserts with consecutive ids are stored as one run until one of them is looked up.
    @Test func runsAreTakenApart() throws {
        let table = try Self.tables()[0]
        var changes = ChangeSet()
        for id in Int64(1)...10 { changes.recordFresh(table, id) }
        changes.record(table, .rowID(20), .update, .all)
        changes.record(table, .rowID(4), .delete, .all)
        changes.record(table, .rowID(11), .insert, .all)
        #expect(changes.count == 11)
        #expect(!Self.text(changes).contains("A 4 insert"))
        #expect(Set(Self.text(changes)).count == 11)
    }
}
