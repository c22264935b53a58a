import Mako

/// Types and properties that are called as tables, keywords and keys are.
enum NameModels {
    @Entity final class River {
        #Index<River>([\.length])
        var name = ""
        var length = 0
        var river: River?
        @Relationship(inverse: \Boat.river) var boats: ToMany<Boat>
    }

    @Entity final class Boat {
        var name = ""
        var boat = 0
        var river: River?
    }

    /// The same in a database that names tables in snake case.
    @Entity final class GreatRiver {
        var name = ""
        var greatRiver: GreatRiver?
        var great_river = 0
        @Relationship(inverse: \LongBoat.great_river) var boats: ToMany<LongBoat>
    }

    @Entity final class LongBoat {
        var name = ""
        var great_river: GreatRiver?
    }

    /// A key beside an `id` of another meaning.
    @Entity final class Coded {
        @Attribute(.primaryKey) var code = ""
        var id = ""
        var size = 0
    }

    @Entity final class Numbered {
        var id = ""
        @Attribute(.primaryKey) var number: Int?
        @Attribute(.unique) var place = 0
    }

    @Entity struct CodedRecord {
        @Attribute(.primaryKey) var code: String
        var id: Int
    }

    @Entity class Based {
        @Attribute(.primaryKey) var code = ""
        var id = 0
    }

    @Entity final class Derived: Based {
        var extra = 0
    }

    /// `id` is computed of something else than the key.
    @Entity final class Computed {
        @Attribute(.primaryKey) var code = ""
        var x = 0
        var id: String { "\(x)-\(code)" }
    }

    @Entity final class Select {
        var select = 0
        var from = ""
        var `where`: Int?
        var order = 0
        var group: Select?
        var größe = 0
        @Attribute(.column("select from")) var limit = 0
    }
}

enum Space {
    @Entity final class Thing { var a = 0 }
    @Entity("Shared") final class Shared { var a = 0 }
}
enum Space2 {
    @Entity final class Thing { var b = 0 }
    @Entity final class Shared { var b = 0 }
}
