import MakoRecords
import MakoStorage

/// A rule for the table names of types that do not name a table themselves; see ``DatabaseOptions/tableNaming``.
///
/// ```swift
/// let options = DatabaseOptions(tableNaming: .snakeCase)  // SmallPerson is stored in small_person
/// ```
///
/// The file stores the name of the rule, because with another rule its tables would not be found.
public struct TableNaming: Sendable, Hashable, CustomStringConvertible {
    /// The name of the rule, which the file stores.
    public let name: String
    private let table: @Sendable (String) -> String

    /// Creates a rule.
    ///
    /// ```swift
    /// let plural = TableNaming("plural") { type in type + "s" }
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the rule, which the file stores. A closure with other results needs another name.
    ///   - table: returns the table name for a type name. Called once per type.
    public init(_ name: String, _ table: @escaping @Sendable (String) -> String) {
        self.name = name
        self.table = table
    }

    /// Stores `SmallPerson` in `small_person` and `URLCache` in `url_cache`.
    public static let snakeCase = TableNaming("snake_case", snakeCased)

    /// Returns a rule that adds a prefix to the result of another rule, or to the type name: `.prefixed("app_")`.
    public static func prefixed(_ prefix: String, _ naming: TableNaming? = nil) -> TableNaming {
        TableNaming("prefix \(prefix)" + (naming.map { ", \($0.name)" } ?? "")) { type in
            prefix + (naming?.table(type) ?? type)
        }
    }

    /// Returns the table name for a type name.
    public func table(of type: String) -> String { table(type) }

    public var description: String { name }
    /// Two rules are equal when their names are.
    public static func == (left: TableNaming, right: TableNaming) -> Bool { left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// A word starts at a capital after another character, and at the last of several capitals before a small letter.
    private static func snakeCased(_ type: String) -> String {
        let letters = Array(type)
        var name = ""
        for (place, letter) in letters.enumerated() {
            if place > 0, letter.isUppercase, letters[place - 1] != "_" {
                let isNext = place + 1 < letters.count && letters[place + 1].isLowercase
                if !letters[place - 1].isUppercase || isNext { name += "_" }
            }
            name += letter.lowercased()
        }
        return name
    }
}

/// The table naming of a file, and that of the options.
struct NamingAgreement: Sendable {
    let path: String
    /// The naming with which the file was created; nil: tables have the names of their types.
    let stored: String?
    let requested: TableNaming?

    /// - Parameter view: a snapshot of the file. A file without tables takes any naming.
    init(_ path: String, _ requested: TableNaming?, _ catalogue: Catalogue, _ view: Snapshot) throws(MakoError) {
        self.path = path
        self.requested = requested
        let stored = try records { () throws(RecordError) in try Catalogue.tableNaming(in: view) }
        self.stored = stored ?? (catalogue.handles.isEmpty ? requested?.name : nil)
    }

    /// Assigns the table names of models.
    ///
    /// - Throws: `MakoError.tableNaming` when the file was created with another naming, `.migration` when a type's
    ///   table has another name already in this process.
    func settle(_ models: [EntityModel]) throws(MakoError) {
        for model in models {
            var name = model.givenTable
            if !model.namesTable {
                if stored != requested?.name {
                    throw .tableNaming(path: path, stored: stored, requested: requested?.name)
                }
                name = requested?.table(of: name) ?? name
            }
            let settled = model.settleTable(name)
            if settled != name {
                throw .migration(
                    entity: model.name,
                    reason:
                        "its table is called \(settled) by a database that this process used it with before, and would be "
                        + "\(name) in \(path); a type has one naming in a process: use the same for both, or give it a "
                        + "name by @Entity(\"\(settled)\")")
            }
        }
    }
}

extension Database {
    /// Stores the table naming in a new file.
    func applyTableNaming() throws(MakoError) {
        guard let naming = options.tableNaming, !options.readOnly, naming.name == self.naming.stored else { return }
        let isKnown = try viewing { (view, _) throws(MakoError) in
            try records { () throws(RecordError) in try Catalogue.tableNaming(in: view) } != nil
        }
        if isKnown { return }
        try writing { (transaction) throws(MakoError) in
            try transaction.writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in try Catalogue.setTableNaming(naming.name, in: tx) }
            }
        }
    }
}
