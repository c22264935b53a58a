import Foundation
import Mako
import TestHelpers
import Testing

@Entity final class Drummer { var name = "" }

@Entity("Combo") final class ComboOfOne {
    var name = ""
    var drummer: Drummer?
}

@Entity("Combo") final class ComboOfMany {
    var name = ""
    var drummer: [Drummer] = []
}

@Entity("Combo") final class ComboOfRenamed {
    var name = ""
    @Attribute(.originalName("drummer")) var drummers: Set<Drummer> = []
}

@Entity("Combo") final class ComboByName {
    var name = ""
    var drummer: [String: Drummer] = [:]
}

extension Drummer: Hashable {
    static func == (left: Drummer, right: Drummer) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A reference to one object becomes a collection of such objects.
@Suite struct CollectionMigrationTests {
    private func fill(_ path: String) throws {
        let db = try Database(at: path, entities: [ComboOfOne.self, Drummer.self])
        try db.save([
            ComboOfOne(name: "a", drummer: Drummer(name: "Ada")), ComboOfOne(name: "b"),
            ComboOfOne(name: "c", drummer: Drummer(name: "Cy")),
        ])
        try db.close()
    }

    @Test func aReferenceBecomesAListOfOne() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(at: path, entities: [ComboOfMany.self, Drummer.self])
            let combos = try db.query(ComboOfMany.self).orderBy(\.name).fetch()
            #expect(combos.map { $0.drummer.map(\.name) } == [["Ada"], [], ["Cy"]])
            combos[1].drummer = [combos[0].drummer[0], Drummer(name: "Di")]
            try db.save(combos[1])
            // The index of keys was built: a removed drummer leaves every list.
            try combos[0].drummer[0].remove()
            let lists = try db.query(ComboOfMany.self).orderBy(\.name).fetch().map { $0.drummer.map(\.name) }
            #expect(lists == [[], ["Di"], ["Cy"]])
            #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
            try db.close()
        }
    }

    @Test func aRenamedReferenceBecomesASetOfOne() throws {
        try withTemporaryFile { path in
            try fill(path)
            let plan = try Database.migrationPlan(at: path, entities: [ComboOfRenamed.self, Drummer.self])
            #expect(plan.canBeDone && plan.losses.isEmpty)
            let db = try Database(at: path, entities: [ComboOfRenamed.self, Drummer.self])
            let combos = try db.query(ComboOfRenamed.self).orderBy(\.name).fetch()
            #expect(combos.map { $0.drummers.map(\.name) } == [["Ada"], [], ["Cy"]])
            try db.close()
        }
    }

    @Test func aReferenceHasNoNameInADictionary() throws {
        try withTemporaryFile { path in
            try fill(path)
            #expect(throws: MakoError.self) { try Database(at: path, entities: [ComboByName.self, Drummer.self]) }
            let db = try Database(at: path, entities: [ComboOfOne.self, Drummer.self])
            #expect(try db.query(ComboOfOne.self).where(\.drummer != nil).count() == 2)
            try db.close()
        }
    }
}
