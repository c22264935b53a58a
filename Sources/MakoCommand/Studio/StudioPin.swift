import Foundation
import MakoRecords
import MakoStorage

/// A snapshot that a page pinned, or that of an earlier copy of the database, with the catalogue of its commit.
struct StudioPin {
    /// The label of the snapshot in the store's statistics.
    static let label = "Mako Studio"

    let view: Snapshot
    let catalogue: Catalogue
    let start = ContinuousClock.now
    /// The name of the copy; nil: the snapshot is of the database itself.
    let copy: String?
    /// Keeps the copy open.
    private let store: Store

    init(_ store: Store) throws { try self.init(store, copy: nil) }

    /// - Parameter copy: a backup, or a file that was restored to an earlier commit.
    init(copy: DatabaseFile) throws { try self.init(copy.store, copy: FilePath.name(of: copy.path)) }

    private init(_ store: Store, copy: String?) throws {
        (self.store, self.copy) = (store, copy)
        view = try store.snapshot(label: Self.label)
        catalogue = try Catalogue.load(view: view)
    }

    var json: JSONValue {
        let age = Double((ContinuousClock.now - start).components.seconds)
        let copy = copy.map { [(key: "copy", value: JSONValue.string($0))] } ?? []
        return .object([("commit", .number(view.commitNumber)), ("age", .double(age))] + copy)
    }
}
