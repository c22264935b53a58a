import MakoRecords
import MakoStorage

/// How the tables of types are called that name none themselves; see ``DatabaseOptions/tableNaming``.
///
/// ```swift
/// let options = DatabaseOptions(tableNaming: .snakeCase)  // SmallPerson is stored in small_person
/// ```
///
/// A naming has a name of its own, which the file keeps: with another one its tables would not be found.
public struct TableNaming: Sendable, Hashable, CustomStringConvertible {
    /// What the file remembers the naming by.
    public let name: String
    private let table: @Sendable (String) -> String

    /// A naming of your own.
    ///
    /// ```swift
    /// let plural = TableNaming("plural") { type in type + "s" }
    /// ```
    ///
    /// - Parameters:
    ///   - name: what the file remembers it by. A closure that names tables otherwise needs another name.
    ///   - table: gives the table's name for a type's. Called once for each type.
    public init(_ name: String, _ table: @escaping @Sendable (String) -> String) {
        self.name = name
        self.table = table
    }

    /// `SmallPerson` is stored in `small_person`, `URLCache` in `url_cache`.
    public static let snakeCase = TableNaming("snake_case", snakeCased)

    /// A prefix before what another naming gives, or before the type's own name: `.prefixed("app_")`.
    public static func prefixed(_ prefix: String, _ naming: TableNaming? = nil) -> TableNaming {
        TableNaming("prefix \(prefix)" + (naming.map { ", \($0.name)" } ?? "")) { type in
            prefix + (naming?.table(type) ?? type)
        }
    }

    /// The table of a type of this name.
    public func table(of type: String) -> String { table(type) }

    public var description: String { name }
    public static func == (left: TableNaming, right: TableNaming) -> Bool { left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// A word begins where a capital follows something else, and with the last of several capitals before a small letter.
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

/// What a file and whoever opens it say about the names of its tables.
struct NamingAgreement: Sendable {
    let path: String
    /// The naming that the file was made with; nil: its tables are called as their types are.
    let stored: String?
    let asked: TableNaming?

    /// - Parameter view: a moment of the file. One that has no tables yet takes any naming.
    init(_ path: String, _ asked: TableNaming?, _ catalogue: Catalogue, _ view: Snapshot) throws(MakoError) {
        self.path = path
        self.asked = asked
        let stored = try records { () throws(RecordError) in try Catalogue.tableNaming(in: view) }
        self.stored = stored ?? (catalogue.handles.isEmpty ? asked?.name : nil)
    }

    /// Gives the tables of models the names that they are to have.
    ///
    /// - Throws: `MakoError.tableNaming` when the file was made with another naming, `.migration` when a type's table has another name already in
    ///   this process.
    func settle(_ models: [EntityModel]) throws(MakoError) {
        for model in models {
            var name = model.givenTable
            if !model.namesTable {
                if stored != asked?.name {
                    throw .tableNaming(path: path, stored: stored, asked: asked?.name)
                }
                name = asked?.table(of: name) ?? name
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
    /// Has a new file remember how its tables are called.
    func applyTableNaming() throws(MakoError) {
        guard let naming = options.tableNaming, !options.readOnly, naming.name == self.naming.stored else { return }
        let isKnown = try viewing { (view, _) throws(MakoError) in
            try records { () throws(RecordError) in try Catalogue.tableNaming(in: view) } != nil
        }
        if isKnown { return }
        try writing { (transaction) throws(MakoError) in
            try transaction.turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in try Catalogue.setTableNaming(naming.name, in: tx) }
            }
        }
    }
}
