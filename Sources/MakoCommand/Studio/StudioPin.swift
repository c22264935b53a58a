import Foundation
import MakoRecords
import MakoStorage

/// A snapshot that a page pinned, with the catalogue of its commit.
struct StudioPin {
    /// The label of the snapshot in the store's statistics.
    static let label = "Mako Studio"

    let view: Snapshot
    let catalogue: Catalogue
    let start = ContinuousClock.now

    init(_ store: Store) throws {
        view = try store.snapshot(label: Self.label)
        catalogue = try Catalogue.load(view: view)
    }

    var json: JSONValue {
        let age = Double((ContinuousClock.now - start).components.seconds)
        return .object([("commit", .number(view.commitNumber)), ("age", .double(age))])
    }
}
