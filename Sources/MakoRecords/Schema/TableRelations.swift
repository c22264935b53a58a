/// What types declare about tables beyond their columns: relations from a row to several rows.
///
/// Not stored; a program that has the types passes it to the catalogue, see ``Catalogue/describing(_:)``.
package struct TableRelations: Sendable, Hashable {
    /// A relation to the rows whose column refers to the row: `people` of a department are the rows whose `department`
    /// it is.
    package struct Inverse: Sendable, Hashable {
        /// The table of the referring rows.
        package var table: String
        /// The referring column.
        package var column: String

        /// Makes an inverse relation.
        package init(table: String, column: String) {
            self.table = table
            self.column = column
        }
    }

    /// The inverse relations, by name.
    package var inverses: [String: Inverse]
    /// The text columns that hold lists of values, as JSON.
    package var lists: Set<String>
    /// The text columns that hold decimals, which are ordered as numbers.
    package var decimals: Set<String>

    /// Makes relations.
    package init(inverses: [String: Inverse] = [:], lists: Set<String> = [], decimals: Set<String> = []) {
        self.inverses = inverses
        self.lists = lists
        self.decimals = decimals
    }
}
