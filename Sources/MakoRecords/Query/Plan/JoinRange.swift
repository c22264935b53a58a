/// Where the rows of a joined table lie whose columns are limited by the rows before: a range of its keys, or of the
/// entries of an index.
///
/// The leading columns equal one value each, and the next column is limited on one side or on both. The range may
/// contain other rows, too, so that every condition is tested again.
struct JoinRange: Sendable {
    enum Target: Sendable {
        case rowID
        case key
        case index(IndexHandle)
    }

    let target: Target
    /// The values of the leading columns.
    var equal: [JoinKeyPart] = []
    /// The limits of the next column.
    var lower: JoinKeyPart?
    var upper: JoinKeyPart?

    init(_ target: Target) { self.target = target }

    /// The access path while no row before is current.
    var emptyAccess: Access {
        switch target {
        case .rowID: .rows(0...0)
        case .key: .keyRanges([])
        case .index(let index): .index(index, [])
        }
    }
}
