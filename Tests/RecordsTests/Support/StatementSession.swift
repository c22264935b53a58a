import MakoRecords
import MakoStorage

/// A database in memory that takes statements one after the other.
struct StatementSession {
    let store: Store

    init(_ statements: String...) throws {
        var options = StoreOptions()
        options.background = .manual
        store = try Store.inMemory(options: options)
        for statement in statements { try run(statement) }
    }

    init(store: Store) { self.store = store }

    /// Runs a statement in a transaction of its own.
    @discardableResult
    func run(
        _ text: String, _ parameters: [Value] = [], named: [String: Value] = [:], ignoringReferences: Bool = false
    ) throws -> StatementOutcome {
        var changes = ChangeSet()
        return try run(text, parameters, named: named, ignoringReferences: ignoringReferences, &changes)
    }

    func run(
        _ text: String, _ parameters: [Value] = [], named: [String: Value] = [:], ignoringReferences: Bool = false,
        _ changes: inout ChangeSet
    ) throws -> StatementOutcome {
        let statement = try Statement.parse(text)
        return try store.write { tx in
            try statement.run(
                try Catalogue.load(view: tx.view), in: tx, changes: &changes, parameters: parameters, named: named,
                ignoringReferences: ignoringReferences)
        }
    }

    /// The rows of a query.
    func rows(_ text: String, _ parameters: [Value] = []) throws -> [[Value]] {
        try store.read { view in
            try Statement.parse(text).read(try Catalogue.load(view: view), view: view, parameters: parameters).rows
        }
    }

    func plan(_ text: String, _ parameters: [Value] = []) throws -> String {
        try store.read { view in
            try SelectStatement.parse(text).explanation(
                try Catalogue.load(view: view), parameters: parameters, view: view
            ).outline
        }
    }

    func table(_ name: String) throws -> TableHandle {
        try store.read { view in try Catalogue.load(view: view).requireTable(name) }
    }

    /// The faults in the indexes of all tables.
    func faults() throws -> [String] {
        try store.read { view in
            var faults: [String] = []
            for table in try Catalogue.load(view: view).handles { faults += try table.verify(in: view) }
            return faults
        }
    }

    /// The words of the error that a statement ends with; empty where it does not.
    func refusal(_ text: String, _ parameters: [Value] = []) -> String {
        do {
            _ = try run(text, parameters)
            return ""
        } catch { return "\(error)" }
    }
}
