import Foundation
import Mako
import TestHelpers

// Classes with every kind of reference that a save follows.

@Entity final class Knot {
    var mark = 0
    var n = 0
    var next: Knot?
    var bead: Bead?
    var clasp: Clasp?
    var list: [Knot] = []
    @Relationship(.owned) var tag: KnotTag?
}

@Entity final class KnotTag {
    var n = 0
}

@Entity class Bead {
    var mark = 0
    var n = 0
    var knot: Knot?
    var named: [String: Bead] = [:]
    @Relationship(.subclasses) var shining: Bead?

    class var edges: [GraphEdge] { GraphEdge.ofBeads }
}

@Entity final class Pearl: Bead {
    var lustre = 0
    var twin: Pearl?

    override class var edges: [GraphEdge] { super.edges + [.one("twin", \Pearl.twin, [.pearl])] }
}

@Entity final class Clasp {
    @Attribute(.primaryKey) var code = ""
    var n = 0
    var knot: Knot?
    var anything: (any ObjectEntity)?
}

@Entity struct KnotHandle {
    var mark = 0
    var knot: ToOne<Knot>
}

/// References that hold their objects differently.
@Entity final class Link {
    var n = 0
    @Relationship(.weak) var loose: Link?
    var thing: (any ObjectEntity)?
    var links: [Link] = []
}

/// A class of which each row has a mark of its own.
@Entity final class Rivet {
    @Attribute(.unique) var mark = 0
    var next: Rivet?
}

let graphClasses: [any Entity.Type] = [
    Knot.self, KnotTag.self, Bead.self, Pearl.self, Clasp.self, KnotHandle.self, Link.self, Rivet.self,
]

/// The calls that save an object.
enum SaveForm: CaseIterable, Sendable {
    case commit, save, insert, array, longArray, transaction, async, asyncCommit, asyncArray, structure

    /// Whether another thread saves, which waits for transactions of this one.
    var isAsync: Bool { self == .async || self == .asyncCommit || self == .asyncArray }

    /// Saves an object; structures and arrays hold it.
    func save<T: ObjectEntity>(_ object: T, in db: Database) throws {
        switch self {
        case .commit:
            try Database.withDefault(db) { _ = try object.commit() }
        case .save: try db.save(object)
        case .insert where object.isNew: try db.insert(object)
        case .insert: try db.save(object)
        case .array: try db.save([object])
        case .longArray: try db.save(Array(repeating: object, count: 20))
        case .transaction: try db.transaction { _ in try db.save(object) }
        case .async: try waiting { _ = try await db.save(object) }
        case .asyncCommit: try waiting { try await Database.withDefault(db) { _ = try await object.commit() } }
        case .asyncArray: try waiting { try await db.save([object]) }
        case .structure:
            guard let knot = object as? Knot else { return try SaveForm.save.save(object, in: db) }
            var handle = KnotHandle(mark: knot.mark, knot: ToOne(knot))
            try db.save(&handle)
        }
    }

    private func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
        let result = Collected<Result<Void, any Error>>()
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                try await body()
                result.append(.success(()))
            } catch { result.append(.failure(error)) }
            done.signal()
        }
        done.wait()
        try result.all.first?.get()
    }
}

extension ObjectEntity {
    /// Whether the object has no row yet.
    fileprivate var isNew: Bool { isDirty && (self as? Knot)?.id == nil && !(self is Bead) && !(self is Clasp) }
}
