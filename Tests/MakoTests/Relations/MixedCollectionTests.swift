import Foundation
import Mako
import MakoTestSupport
import TestHelpers
import Testing

enum Baskets {
    @Entity("Basket") final class Basket {
        var name = ""
        var items: [ObjectOrValue] = []
        var byName: [String: ObjectOrValue] = [:]
        var rows: [[ObjectOrValue]] = []
        var extras: [ObjectOrValue]?
        var marked: [String: ObjectOrValue]?
        var grouped: [Int: [ObjectOrValue]] = [:]
        var tables: [[String: ObjectOrValue]] = []
    }

    @Entity("Fruit") final class Fruit {
        var name = ""
        @Relationship(inverse: \Basket.items) var baskets: ToMany<Basket>
    }

    @Entity("Jar") final class Jar {
        @Attribute(.primaryKey) var code = ""
    }

    static let all: [any Entity.Type] = [Basket.self, Fruit.self, Jar.self]
}

enum RuledBaskets {
    @Entity("Box") final class Box {
        var name = ""
        var content: [ObjectOrValue] = []
    }

    @Entity("Cargo") final class Cargo {
        var name = ""
        @Relationship(inverse: \Box.content, deleteRule: .cascade) var boxes: ToMany<Box>
    }

    static let all: [any Entity.Type] = [Box.self, Cargo.self]
}

/// Collections that hold objects and values.
@Suite struct MixedCollectionTests {
    typealias Basket = Baskets.Basket
    typealias Fruit = Baskets.Fruit
    typealias Jar = Baskets.Jar

    let db: Database

    init() throws { db = try makeDatabase(Baskets.all) }

    static func text(_ element: ObjectOrValue) -> String {
        switch element.object {
        case let fruit as Fruit: "fruit \(fruit.name)"
        case let jar as Jar: "jar \(jar.code)"
        case let basket as Basket: "basket \(basket.name)"
        default: element.value.map { "\($0.typeName) \($0)" } ?? "another"
        }
    }

    private func texts(_ elements: [ObjectOrValue]) -> [String] { elements.map(Self.text) }

    private func basket(_ id: Int = 1) throws -> Basket { try #require(try db.find(Basket.self, id)) }

    private func expectSound() throws {
        #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
    }

    // MARK: - Elements

    @Test func elementsAreMadeFromLiteralsValuesAndObjects() throws {
        let fruit = Fruit(name: "fig")
        let list: [ObjectOrValue] = ["a", 5, 2.5, true, "\(1 + 1)", ObjectOrValue(fruit), ObjectOrValue(Decimal(7))]
        #expect(list.map(\.value) == [.text("a"), .integer(5), .double(2.5), .bool(true), .text("2"), nil, .text("7")])
        #expect(list[5].object === fruit && list[0].object == nil)
        #expect(ObjectOrValue(StoredValue.integer(5)) == 5 && ObjectOrValue(Optional(StoredValue.integer(5))) == 5)
        #expect(ObjectOrValue(Int?.none).value == .null)
        #expect(list[1].value(as: Int.self) == 5 && list[1].value(as: String.self) == nil)
        #expect(list[6].value(as: Decimal.self) == 7 && list[5].value(as: Int.self) == nil)
        #expect(list[1].value(as: StoredValue.self) == .integer(5))
        #expect(ObjectOrValue(fruit) == .object(fruit) && ObjectOrValue(Fruit(name: "fig")) != .object(fruit))
        #expect(ObjectOrValue.value(.integer(1)) != .value(.double(1)) && Set(list + list).count == list.count)
        #expect("\(list[0]) \(list[1])" == "'a' 5")
    }

    // MARK: - Storing and loading

    @Test func objectsAndValuesKeepTheirOrderAndDuplicates() throws {
        let (fruit, jar) = (Fruit(name: "fig"), Jar(code: "it's:a%b"))
        let made = Basket(
            name: "b", items: ["ripe", .object(fruit), 5, .object(jar), "ripe", .object(fruit), 5, "Fruit:1"])
        try db.save(made)
        let read = try basket()
        let expected = [
            "text 'ripe'", "fruit fig", "integer 5", "jar it's:a%b", "text 'ripe'", "fruit fig", "integer 5",
            "text 'Fruit:1'",
        ]
        #expect(texts(read.items) == expected)
        #expect(read.items[1].object === read.items[5].object && read.items[7].object == nil)
        // The objects were stored with their owner, each once.
        #expect(try db.query(Fruit.self).count() == 1 && db.query(Jar.self).count() == 1)
        read.items.remove(at: 1)
        read.items.append(.object(Fruit(name: "date")))
        read.items.append(7)
        try db.save(read)
        #expect(texts(try basket().items) == expected[..<1] + expected[2...] + ["fruit date", "integer 7"])
        try expectSound()
    }

    @Test func everyValueComesBackExactly() throws {
        let decimal = try #require(Decimal(string: "1234567890.0123456789"))
        let nan = Double(bitPattern: 0x7FF8_0000_0000_1234)
        let values: [StoredValue] = [
            .null, .bool(false), .bool(true), .integer(.min), .integer(-1), .integer(.max), .unsigned(.max),
            .unsigned(1 << 63), .double(-0.0), .double(nan), .double(-.infinity), .double(.leastNonzeroMagnitude),
            .text(""), .text("\0\u{1}ä😀"), .text("e\u{301}"), .blob([]), .blob([0, 255, 0]), .date(-0.5), .date(nan),
            .uuid(.max, 1), decimal.stored,
            .text(String(repeating: "x", count: 9000)),
            .blob((0..<701).map { UInt8(truncatingIfNeeded: $0) }),
        ]
        let names = Dictionary(uniqueKeysWithValues: values.enumerated().map { ("\($0)", ObjectOrValue($1)) })
        try db.save(Basket(name: "b", items: values.map { .value($0) }, byName: names))
        let read = try basket()
        #expect(read.items.compactMap(\.value) == values)
        #expect(read.byName == names)
        for (place, value) in values.enumerated() {
            switch (value, read.items[place].value) {
            case (.double(let a), .double(let b)?), (.date(let a), .date(let b)?):
                #expect(a.bitPattern == b.bitPattern)
            case (.text(let a), .text(let b)?): #expect(Array(a.utf8) == Array(b.utf8))
            default: continue
            }
        }
        try expectSound()
    }

    @Test func dictionariesNestedAndOptionalCollectionsKeepTheirForm() throws {
        let (fruit, jar) = (Fruit(name: "fig"), Jar(code: "j"))
        let made = Basket(name: "forms")
        made.byName = ["": 1, "wild 😀": .object(fruit), "again": .object(fruit)]
        made.rows = [[.object(fruit), "x"], [], [2.5]]
        made.grouped = [7: [true, .object(jar)], Int.min: []]
        made.tables = [["a": .object(jar), "b": 2], [:]]
        try db.save(made)
        let read = try basket()
        #expect(read.byName.mapValues(Self.text) == ["": "integer 1", "wild 😀": "fruit fig", "again": "fruit fig"])
        #expect(read.rows.map(texts) == [["fruit fig", "text 'x'"], [], ["double 2.5"]])
        #expect(read.grouped.mapValues(texts) == [7: ["bool TRUE", "jar j"], Int.min: []])
        #expect(read.tables.map { $0.mapValues(Self.text) } == [["a": "jar j", "b": "integer 2"], [:]])
        #expect(read.byName["again"]?.object === read.rows[0][0].object)
        #expect(read.items.isEmpty && read.extras == nil && read.marked == nil)
        read.extras = []
        read.marked = ["m": "only a value"]
        try db.save(read)
        let again = try basket()
        #expect(again.extras?.isEmpty == true && again.marked == ["m": "only a value"])
        again.extras = nil
        try db.save(again)
        #expect(try basket().extras == nil)
    }

    @Test func valuesAloneReadNoObjects() throws {
        try db.save(Basket(name: "b", items: [1, 2, "x"]))
        let read = try basket()
        let before = db.metrics.lazyLoads
        #expect(read.items == [1, 2, "x"])
        #expect(db.metrics.lazyLoads == before)
        #expect(try db.query(Fruit.self).count() == 0)
    }

    @Test func aChangedMemberIsSavedWithItsOwner() throws {
        let fruit = Fruit(name: "fig")
        let made = Basket(name: "b", items: [1, .object(fruit)])
        try db.save(made)
        fruit.name = "date"
        try made.commit()
        #expect(texts(try basket().items) == ["integer 1", "fruit date"])
    }

    @Test func prefetchLoadsTheObjectsWithTheirOwners() throws {
        try db.save([
            Basket(name: "1", items: [1, .object(Fruit(name: "fig")), .object(Jar(code: "j"))]),
            Basket(name: "2", items: ["x"], byName: ["a": .object(Fruit(name: "date")), "b": 2]),
        ])
        let read = try db.query(Basket.self).prefetch(\.items).prefetch(\.byName).orderBy(\.name).fetch()
        let before = db.metrics.lazyLoads
        #expect(read.map { texts($0.items) } == [["integer 1", "fruit fig", "jar j"], ["text 'x'"]])
        #expect(read[1].byName.mapValues(Self.text) == ["a": "fruit date", "b": "integer 2"])
        #expect(db.metrics.lazyLoads == before)
    }

    /// Random changes of a list and a dictionary, deletions and rollbacks, beside lists of texts.
    @Test(arguments: 0..<16) func randomListsAreWhatTheyWere(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var items: [String] = []
        var byName: [String: String] = [:]
        try db.save(Basket(name: "list"))
        for round in 0..<30 {
            let list = try basket()
            #expect(texts(list.items) == items && list.byName.mapValues(Self.text) == byName)
            change(list, round, &random)
            if Int.random(in: 0..<5, using: &random) == 0 {
                #expect(throws: (any Error).self) {
                    try db.transaction { tx in
                        try db.save(list)
                        try tx.rollback()
                    }
                }
                continue
            }
            try db.save(list)
            (items, byName) = (texts(list.items), list.byName.mapValues(Self.text))
            guard Int.random(in: 0..<3, using: &random) == 0,
                let gone = list.items.compactMap(\.object).randomElement(using: &random)
            else { continue }
            let name = Self.text(.object(gone))
            items.removeAll { $0 == name }
            byName = byName.filter { $0.value != name }
            try gone.remove()
            for object in try basket().items.compactMap(\.object) { #expect(try object.referencedCount() == 1) }
        }
        try expectSound()
    }

    private func change(_ list: Basket, _ round: Int, _ random: inout SplitMix) {
        for number in 0..<Int.random(in: 0...3, using: &random) {
            let name = "\(round).\(number)"
            switch Int.random(in: 0..<5, using: &random) {
            case 0: list.items.append(.object(Fruit(name: name)))
            case 1: list.items.append(.object(Jar(code: name)))
            case 2: list.items.append(.value(.integer(Int64.random(in: 0...3, using: &random))))
            case 3: list.items.append(.value(.text("Fruit:\(number)")))
            default: list.items.append(.value(.double(Double(round) / 2)))
            }
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: list.items.shuffle(using: &random)
        case 1: if let one = list.items.randomElement(using: &random) { list.items.insert(one, at: 0) }
        case 2: if !list.items.isEmpty { list.items.removeLast() }
        case 3, 4: list.byName["\(round % 4)"] = list.items.randomElement(using: &random)
        default: break
        }
    }

    // MARK: - Removed members

    @Test func aRemovedObjectLeavesAndValuesStay() throws {
        let (fruit, jar) = (Fruit(name: "fig"), Jar(code: "j"))
        let first = Basket(name: "1", items: ["Fruit:1", .object(fruit), 1, .object(jar), .object(fruit), 2])
        try db.save([first, Basket(name: "2", byName: ["x": .object(fruit), "y": 3], rows: [[.object(fruit)], [4]])])
        try db.delete(fruit)
        #expect(texts(try basket().items) == ["text 'Fruit:1'", "integer 1", "jar j", "integer 2"])
        #expect(try basket(2).byName == ["y": 3] && basket(2).rows == [[], [4]])
        // An object that holds it in memory does not bring it back.
        first.items = first.items + [9]
        try db.save(first)
        #expect(texts(try basket().items) == ["text 'Fruit:1'", "integer 1", "jar j", "integer 2", "integer 9"])
        try db.rawQuery("DELETE FROM Jar")
        #expect(texts(try basket().items) == ["text 'Fruit:1'", "integer 1", "integer 2", "integer 9"])
        try expectSound()
    }

    @Test func aRolledBackCollectionIsAsBefore() throws {
        struct Stop: Error {}
        let fruit = Fruit(name: "fig")
        let made = Basket(name: "b", items: [1, .object(fruit)])
        try db.save(made)
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                made.items = [2, .object(Jar(code: "j"))]
                try db.save(made)
                try db.delete(fruit)
                throw Stop()
            }
        }
        #expect(texts(made.items) == ["integer 1", "fruit fig"])
        #expect(texts(try basket().items) == ["integer 1", "fruit fig"])
        #expect(try db.query(Jar.self).count() == 0)
    }

    @Test func deleteRulesApplyToOwnersOfObjectsOnly() throws {
        let db = try makeDatabase(RuledBaskets.all)
        let cargo = (1...12).map { RuledBaskets.Cargo(name: "\($0)") }
        try db.save(cargo)
        try db.save([
            RuledBaskets.Box(name: "own", content: [1, .object(cargo[0])]),
            RuledBaskets.Box(name: "text", content: ["Cargo:1", .object(cargo[9]), .object(cargo[11])]),
        ])
        #expect(try cargo[0].boxes.query().fetch().map(\.name) == ["own"])
        try db.delete(cargo[0])
        #expect(try db.query(RuledBaskets.Box.self).fetch().map(\.name) == ["text"])
    }

    // MARK: - Owners of an object

    @Test func ownersOfAnObjectAreFound() throws {
        let (fruit, jar) = (Fruit(name: "fig"), Jar(code: "j"))
        try db.save([
            Basket(name: "1", items: [1, .object(fruit), .object(fruit)]),
            Basket(name: "2", byName: ["x": .object(jar), "y": "Fruit:1"]), Basket(name: "3", items: [1, "Fruit:1"]),
        ])
        #expect(try fruit.referencing(Basket.self).map(\.name) == ["1"] && fruit.referencedCount() == 1)
        #expect(try db.query(Basket.self).referencing(jar).fetch().map(\.name) == ["2"])
        // Values refer to nothing.
        #expect(try db.query(Basket.self).referencing(.null).fetch().map(\.name) == ["3"])
        let first = try #require(try db.query(Basket.self).where(\.name == "1").first())
        #expect(try db.query(Fruit.self).referenced(by: first).fetch().map(\.name) == ["fig"])
        #expect(try fruit.baskets.query().fetch().map(\.name) == ["1"])
    }

    @Test func aToManyGivesAndTakesOwners() throws {
        let (fruit, made) = (Fruit(name: "fig"), Basket(name: "b", items: [1]))
        try db.save(made)
        try fruit.baskets.append(made)
        try db.save(fruit)
        #expect(texts(try basket().items) == ["integer 1", "fruit fig"])
        #expect(try fruit.baskets.remove(made))
        try db.save(fruit)
        #expect(try basket().items == [1])
    }

    // MARK: - Conditions

    @Test func conditionsCompareValuesAndTexts() throws {
        let (fruit, jar) = (Fruit(name: "fig"), Jar(code: "j"))
        try db.save([
            Basket(name: "1", items: [5, .object(fruit), "ripe"]), Basket(name: "2", items: [.object(jar), 2.5, true]),
            Basket(name: "3", items: ["raw"], byName: ["x": 5, "y": .object(fruit)], extras: [.value(.null)]),
        ])
        let query = db.query(Basket.self).orderBy(\.name)
        func names(_ text: String) throws -> [String] { try query.where(text: text).fetch().map(\.name) }
        #expect(try names("ANY items = 5") == ["1"] && names("ANY items > 2") == ["1", "2"])
        #expect(try names("ANY items = 'ripe'") == ["1"] && names("ANY items LIKE 'r%'") == ["1", "3"])
        #expect(try names("ANY items = 'Fruit:1'") == ["1"] && names("ANY items = TRUE") == ["2"])
        #expect(try names("items.@count = 3") == ["1", "2"] && names("NONE items = 5") == ["2", "3"])
        #expect(try names("ANY extras IS NULL") == ["3"])
        #expect(throws: MakoError.self) { try names("ANY items.name = 'fig'") }
        func found(_ condition: Condition<Basket>) throws -> [String] {
            try query.where(condition).fetch().map(\.name)
        }
        #expect(try found(.contains(\.items, 5)) == ["1"] && found(.contains(\.items, "raw")) == ["3"])
        #expect(try found(.contains(\.items, fruit)) == ["1"] && found(.contains(\.items, jar)) == ["2"])
        #expect(try found(.contains(\.byName, 5)) == ["3"] && found(.contains(\.byName, fruit)) == ["3"])
        #expect(try found(.contains(\.extras, Int?.none)) == ["3"] && found(\.items.count == 1) == ["3"])
        #expect(try found(.contains(\.items, Fruit(name: "new"))).isEmpty)
    }

    // MARK: - Copies and forms

    @Test func aCopyInAnotherDatabaseHasCopiesOfTheObjectsAndTheValues() throws {
        let made = Basket(
            name: "b", items: [1, .object(Fruit(name: "fig")), "x"], byName: ["j": .object(Jar(code: "j"))])
        made.items.append(.object(made))
        try db.save(made)
        let other = try makeDatabase(Baskets.all)
        try other.save(Fruit(name: "already there"))
        let copy = try other.insert(copyOf: try basket())
        #expect(texts(copy.items) == ["integer 1", "fruit fig", "text 'x'", "basket b"])
        let read = try #require(try other.find(Basket.self, 1))
        #expect(texts(read.items) == ["integer 1", "fruit fig", "text 'x'", "basket b"])
        #expect((read.items[1].object as? Fruit)?.id == 2 && read.byName.mapValues(Self.text) == ["j": "jar j"])
        let clone = try basket().clone()
        try db.save(clone)
        #expect(texts(try basket(2).items) == ["integer 1", "fruit fig", "text 'x'", "basket b"])
    }

    @Test func aDictionaryRoundTripsAndTheDescriptionShowsBoth() throws {
        try db.save(Basket(name: "b", items: [1, .object(Fruit(name: "fig")), "x"], byName: ["v": 2]))
        let read = try basket()
        #expect("\(read)".contains("items: no objects loaded"))
        let copy = try Basket(read.asDictionary)
        copy.name = "other"
        try db.save(copy)
        #expect(try basket().name == "other" && texts(basket().items) == ["integer 1", "fruit fig", "text 'x'"])
        #expect(read.items.count == 3)
        #expect("\(read)".contains("items: loaded [1, 'Fruit:1', 'x']"))
        let given: [ObjectOrValue] = [3, .object(Fruit(name: "date"))]
        #expect(texts(try Basket(["items": given]).items) == ["integer 3", "fruit date"])
        #expect(throws: MakoError.self) { try Basket(["items": "no keys"]) }
    }

    @Test func changesHaveTheKeysOfTheObjects() throws {
        let made = Basket(name: "b", items: [1, .object(Fruit(name: "fig")), "x"])
        try db.save(made)
        let keys = Collected<[Int]>()
        let token = try Basket.onChange(.update, withValues: true, in: db) { change in
            keys.append([change.oldKeys(of: \.items)?.count ?? -1, change.newKeys(of: \.items)?.count ?? -1])
        }
        made.items = [1, 2]
        try db.save(made)
        made.items = [1, 3]
        try db.save(made)
        #expect(keys.all == [[1, 0], [0, 0]])
        token.cancel()
    }
}
