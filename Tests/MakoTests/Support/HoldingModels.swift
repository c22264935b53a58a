import Foundation
import Mako

/// Classes that hold structs with rows of their own.
enum Holding {
    @Entity struct Lake: Hashable {
        var name: String
        var depth = 0.0
    }

    @Entity struct Den {
        @Attribute(.primaryKey) var code: String
        var lake: Lake?
        var keeper: ToOne<Bear>
    }

    @Entity class Bear {
        #Index<Bear>([\.name])
        var name = ""
        var den: Den?
        var lake: Lake?
        var swims: [Lake] = []
        @Attribute(.unique) var tag: Int?
        var friend: Bear?
    }

    @Entity final class Cub: Bear {
        var toy: Lake?
    }

    /// All forms in one.
    @Entity final class Atlas {
        @Attribute(.primaryKey) var name = ""
        var list: [Lake] = []
        var maybe: [Lake]?
        var pack: Set<Lake> = []
        var maybePack: Set<Lake>?
        var byPlace: [String: Lake] = [:]
        var maybeByPlace: [Int: Lake]?
        var groups: [[Lake]] = []
        var byYear: [Int: [Lake]] = [:]
        var rounds: [[String: Lake]] = []
    }

    @Entity struct Link {
        var node: ToOne<Node>
    }

    @Entity final class Node {
        var next: Link?
    }

    typealias Lakes = [Lake]

    @Entity final class Boat {
        var name = ""
        var lakes: Lakes = []
    }

    @Entity final class Raft {
        var lake: Lake?
        var lakes: Lakes = []
    }

    @Entity final class Hut {
        var name = ""
    }

    @Entity final class Hunter {
        @Attribute(.identity) var badge = ""
        var lake: Lake?
        var hut: Hut?
    }

    @Entity final class Buoy {
        @Attribute(.primaryKey) var code = ""
        @Attribute(.writeOnce) var lake: Lake?
    }

    @Entity struct Pup {
        @Attribute(.primaryKey) var code: String
        var siblings: [Pup] = []
        var owner: ToOne<Kennel>
    }

    @Entity final class Kennel {
        var first: Pup?
    }

    enum Water: String { case fresh, salt }

    @Entity struct Pool {
        var name: String
        var water: Water?
    }

    @Entity final class Swimmer {
        var pools: [Pool] = []
    }

    @Entity final class Warden {
        var name = ""
        var den: Den?
        var lakes: [Lake] = []

        /// Assigns what the save that calls it must store.
        func willInsert() -> Bool {
            lakes.append(Lake(name: "by the hook"))
            return true
        }
    }

    @Entity final class Closing {
        var lake: Lake?
        deinit { _ = lake?.name }
    }
}
