import Foundation
import Mako

// The same tables as two generations of a program see them.

enum Before {
    @Entity("Citizen") final class Citizen {
        #Index<Citizen>([\.first])
        var first = ""
        var last = ""
        var age: String?
        var secret = ""
        var shoeSize: Int?
    }

    @Entity("Dog") class Dog {
        var name = ""
        var weight = 0
        var parent: Dog?
    }
    @Entity("Cat") final class Cat {
        var title = ""
        var rival: Dog?
    }
    @Entity("Keeper") final class Keeper {
        var name = ""
        var dog: Dog?
        var dogs: [Dog] = []
        var cat: Cat?
    }

    @Entity("House") final class House {
        var number = 0
        var street = ""
        var city = ""
    }

    @Entity("Tag") struct Tag: Equatable {
        @Attribute(.primaryKey) var code: String
        var note: String = ""
    }
}

enum After {
    @Entity("Citizen") final class Citizen {
        #Index<Citizen>([\.name])
        var name = ""
        var age: Int = 36
        var fullName = ""
        var isMember: Bool = false
        var shoeSize: Int?
    }

    @Entity("Pet") final class Pet {
        #Index<Pet>([\.name])
        var name = ""
        var legs = 0
        var parent: Pet?
    }
    @Entity("Keeper") final class Keeper {
        var name = ""
        var dog: Pet?
        var dogs: [Pet] = []
        var cat: Pet?
    }

    @Entity("House") final class House {
        var number = 0
        var address: Address?
    }
    @Entity("Address") final class Address {
        var street = ""
        var city = ""
    }

    @Entity("Label2") struct Label: Equatable {
        @Attribute(.primaryKey) var text: String
        var note: String = ""
    }
}

extension After.Citizen: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.rename("first", to: "name")
            m.version = 1
        }
        if m.version < 2 {
            m.transform("age") { (old: String?) in
                guard let old else { return Int?.none }
                guard let age = Int(old) else { throw NoAge(text: old) }
                return age
            }
            m.version = 2
        }
        if m.version < 3 {
            m.add("fullName") { row in
                try row.value("name", as: String.self) + " " + row.value("last", as: String.self)
            }
            m.add("isMember", default: true)
            m.remove("last")
            m.remove("secret")
            m.version = 3
        }
    }
}

struct NoAge: Error, CustomStringConvertible {
    let text: String
    var description: String { "'\(text)' is no age" }
}

extension After.Pet: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Dog") { row in
                ["title": try row["name"], "feet": 4, "parent": try row["parent"]]
            }
            m.merge(from: "Cat") { row in ["title": try row.value("title", as: String.self), "feet": "4"] }
            m.version = 1
        }
        // The next steps work on the rows that were just merged.
        if m.version < 2 {
            m.rename("title", to: "name")
            m.transform("feet") { (old: StoredValue) in old == .text("4") ? .integer(40) : old }
            m.rename("feet", to: "legs")
            m.version = 2
        }
    }
}

extension After.House: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.split(into: After.Address.self, linking: "address") { row in
                if try row["street"] == .text("") { return [] }
                return [["street": try row["street"], "city": try row["city"]]]
            }
            m.remove("street")
            m.remove("city")
            m.version = 1
        }
    }
}

extension After.Label: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.renameTable(from: "Tag")
            m.rename("code", to: "text")
            m.version = 1
        }
    }
}

/// Generations that cannot follow.
enum Wrong {
    @Entity("Citizen") final class Misspelt {
        var name = ""
    }
    @Entity("Citizen") final class Lazy {
        var name = ""
    }
    @Entity("Citizen") final class Backward {
        var name = ""
    }
    @Entity("Citizen") final class Older {
        var name = ""
        var age: Int = 36
    }
    @Entity("Citizen") final class Unaware {
        var name = ""
        var age: Int = 36
    }
    @Entity("Tag") struct Rekeyed {
        @Attribute(.primaryKey) var code: String
    }
    @Entity("Pet") final class Copied {
        var name = ""
        var legs = 4
    }
    @Entity("Pet") final class Coded {
        @Attribute(.primaryKey) var name = ""
    }
    @Entity("Pet") final class Numbered {
        @Attribute(.primaryKey) var number: Int = 0
        var name = ""
    }
}

extension Wrong.Misspelt: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.rename("frist", to: "name")
            m.version = 1
        }
    }
}
extension Wrong.Lazy: Migratable {
    static func migrate(_ m: inout Migration) throws { if m.version < 1 { m.rename("first", to: "name") } }
}
extension Wrong.Backward: Migratable {
    static func migrate(_ m: inout Migration) throws { m.version -= 1 }
}
extension Wrong.Older: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.rename("first", to: "name")
            m.transform("age") { (old: String?) in old.flatMap { Int($0) } }
            m.version = 1
        }
    }
}
extension Wrong.Rekeyed: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.transform("code") { (_: String) in "same" }
            m.version = 1
        }
    }
}
extension Wrong.Copied: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Dog")
            m.version = 1
        }
    }
}
extension Wrong.Coded: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Dog") { row in ["name": try row["name"]] }
            m.version = 1
        }
    }
}
extension Wrong.Numbered: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Dog") { row in ["name": try row["name"]] }
            m.merge(from: "Cat") { row in ["name": try row["title"]] }
            m.version = 1
        }
    }
}

/// A family whose tables are migrated by the same steps.
enum Ancestors {
    @Entity("Vehicle") class Vehicle {
        var label = ""
    }
    @Entity("Truck") final class Truck: Vehicle {
        var load = 0
    }
}
enum Descendants {
    @Entity("Vehicle") class Vehicle {
        var plate = ""
    }
    @Entity("Truck") final class Truck: Vehicle {
        var load = 0
    }
}
extension Descendants.Vehicle: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.rename("label", to: "plate")
            m.version = 1
        }
    }
}
