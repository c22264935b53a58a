import Mako
import TestHelpers
import Testing

// One table as several programs see it.
enum Renamed {
    enum Before {
        @Entity("Renamed") final class Thing {
            var first = ""
            var second = ""
        }
    }
    enum Reused {
        @Entity("Renamed") final class Thing {
            #Index<Thing>([\.first])
            var first = "new"
            @Attribute(.originalName("first")) var former = ""
            var second = ""
        }
    }
    enum Chain {
        @Entity("Renamed") final class Thing {
            @Attribute(.originalName("second")) var third = ""
            @Attribute(.originalName("first")) var second = ""
        }
    }
    enum Swapped {
        @Entity("Renamed") final class Thing {
            @Attribute(.originalName("second")) var first = ""
            @Attribute(.originalName("first")) var second = ""
        }
    }
    enum Twice {
        @Entity("Renamed") final class Thing {
            @Attribute(.originalName("first")) var one = ""
            @Attribute(.originalName("first")) var two = ""
        }
    }
    enum ByHand {
        @Entity("Renamed") final class Thing: Migratable {
            var first = ""
            var second = ""

            static func migrate(_ m: inout Migration) throws {
                if m.version < 1 {
                    m.rename("first", to: "other")
                    m.rename("second", to: "first")
                    m.rename("other", to: "second")
                    m.version = 1
                }
            }
        }
    }
    enum ByHandAndNew {
        @Entity("Renamed") final class Thing: Migratable {
            var first = "new"
            var former = ""
            var second = ""

            static func migrate(_ m: inout Migration) throws {
                if m.version < 1 {
                    m.rename("first", to: "former")
                    m.version = 1
                }
            }
        }
    }
}

/// Properties get other names, all at once: a value never lands in another property.
@Suite struct RenameTests {
    private func withThings(_ body: (String) throws -> Void) throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [Renamed.Before.Thing.self])
            try db.save([Renamed.Before.Thing(first: "a", second: "b"), Renamed.Before.Thing(first: "c", second: "d")])
            try db.close()
            try body(path)
        }
    }

    /// The rows as a type reads them, each time that the file is opened.
    private func read<T: ObjectEntity>(_ type: T.Type, at path: String, _ text: (T) -> String) throws -> [[String]] {
        try (0..<3).map { _ in
            let db = try Database(at: path, entities: [type])
            let found = try db.query(type).orderBy("id").fetch().map(text)
            _ = try db.verify()
            try db.close()
            return found
        }
    }

    @Test func aNewPropertyMayHaveTheNameThatAnotherHad() throws {
        try withThings { path in
            let found = try read(Renamed.Reused.Thing.self, at: path) { "\($0.first) \($0.former) \($0.second)" }
            #expect(found == Array(repeating: ["new a b", "new c d"], count: 3))
            let db = try Database(at: path, entities: [Renamed.Reused.Thing.self])
            #expect(try db.query(Renamed.Reused.Thing.self).where(\.first == "new").count() == 2)
            #expect(try db.query(Renamed.Reused.Thing.self).where(\.first == "a").count() == 0)
            try db.close()
        }
    }

    @Test func namesMayMoveOn() throws {
        try withThings { path in
            let found = try read(Renamed.Chain.Thing.self, at: path) { "\($0.second) \($0.third)" }
            #expect(found == Array(repeating: ["a b", "c d"], count: 3))
        }
    }

    @Test func namesThatAreExchangedAreRefused() throws {
        try withThings { path in
            #expect {
                try Database(at: path, entities: [Renamed.Swapped.Thing.self])
            } throws: { error in
                guard case MakoError.migration("Renamed", let reason) = error else { return false }
                return reason.contains("form a circle") && reason.contains("Migratable")
            }
            #expect(throws: MakoError.self) { try Database(at: path, entities: [Renamed.Twice.Thing.self]) }
            let found = try read(Renamed.Before.Thing.self, at: path) { "\($0.first) \($0.second)" }
            #expect(found == Array(repeating: ["a b", "c d"], count: 3))
        }
    }

    @Test func stepsByHandExchangeThem() throws {
        try withThings { path in
            let found = try read(Renamed.ByHand.Thing.self, at: path) { "\($0.first) \($0.second)" }
            #expect(found == Array(repeating: ["b a", "d c"], count: 3))
        }
        try withThings { path in
            let found = try read(Renamed.ByHandAndNew.Thing.self, at: path) { "\($0.first) \($0.former) \($0.second)" }
            #expect(found == Array(repeating: ["new a b", "new c d"], count: 3))
        }
    }
}
