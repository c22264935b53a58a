/// What the types know of tables beyond their columns: names that lead from a row to many.
///
/// It is not stored; a catalogue is given it by whoever knows the types, see ``Catalogue/describing(_:)``.
public struct TableRelations: Sendable, Hashable {
    /// The rows of a table whose column refers to the row: `people` of a department are the persons whose `department` it is.
    public struct Inverse: Sendable, Hashable {
        public var table: String
        public var column: String

        public init(table: String, column: String) {
            self.table = table
            self.column = column
        }
    }

    /// By the name of the relation.
    public var inverses: [String: Inverse]
    /// The columns of text that hold lists of values, as JSON.
    public var lists: Set<String>
    /// The columns of text that hold decimals, which are ordered as numbers are.
    public var decimals: Set<String>

    public init(inverses: [String: Inverse] = [:], lists: Set<String> = [], decimals: Set<String> = []) {
        self.inverses = inverses
        self.lists = lists
        self.decimals = decimals
    }
}
