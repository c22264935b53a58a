import Foundation
import Mako
import TestHelpers
import Testing

/// The calls of the hooks of a test's objects, in order.
private let calls = Calls()

final class Calls: @unchecked Sendable {
    @TaskLocal static var current: Collected<String>?
    func note(_ call: String) { Calls.current?.append(call) }
}

@Entity final class Order {
    var title: String = ""
    var total = 0
    var customer: Customer?
    var audit: Audit?

    func willInsert() -> Bool {
        calls.note("willInsert \(title)")
        if title == "again" { _ = try? commit() }
        if title == "audited" { audit = Audit(text: "inserted") }
        if title == "logged" { _ = try? Audit(text: "logged").commit() }
        if title == "first" { _ = try? Fresh(text: "made").commit() }
        if title == "leading" { _ = try? Order(title: "inner", total: -1).commit() }
        return total >= 0
    }
    func willUpdate() {
        calls.note("willUpdate \(title)")
        if title == "raised" { total += 1 }
        if title == "leaving" { _ = try? remove() }
    }
    func willDelete() -> Bool {
        calls.note("willDelete \(title)")
        if title == "again" { _ = try? remove() }
        return title != "kept"
    }
    func didInsert() { calls.note("didInsert \(title)") }
    func didUpdate() { calls.note("didUpdate \(title)") }
    func didDelete() { calls.note("didDelete \(title)") }
    func didSave() {
        calls.note("didSave \(title)")
        if title == "follow" { _ = try? Audit(text: "followed").commit() }
    }
}

@Entity final class Customer {
    var name: String = ""
    @Relationship(inverse: \Order.customer, deleteRule: .cascade) var orders: ToMany<Order>
}

// A hook in an extension counts as one in the class.
extension Customer {
    func willInsert() -> Bool {
        calls.note("willInsert \(name)")
        return name != "refused"
    }
    func didLoad() { calls.note("didLoad \(name)") }
}

@Entity final class Audit {
    @Attribute(.unique) var text: String = ""
}

/// Not named when the database is opened.
@Entity final class Fresh {
    var text: String = ""
}

@Suite struct HookTests {
    private let db: Database
    private let notified = Collected<String>()

    init() throws { db = try makeDatabase([Order.self, Customer.self, Audit.self]) }

    /// Returns the calls of hooks while the body ran.
    private func hooks(_ body: () throws -> Void) rethrows -> [String] {
        let notified = Collected<String>()
        try Calls.$current.withValue(notified) { try Database.withDefault(db) { try body() } }
        return notified.all
    }

    @Test func hooksAreCalledAroundEachStep() throws {
        let order = Order(title: "one")
        #expect(try hooks { try order.commit() } == ["willInsert one", "didInsert one", "didSave one"])
        #expect(try hooks { try order.commit() } == [])
        order.total = 5
        #expect(try hooks { try order.commit() } == ["willUpdate one", "didUpdate one", "didSave one"])
        #expect(try hooks { try order.remove() } == ["willDelete one", "didDelete one"])
        let calls = try hooks {
            _ = try #require(throws: MakoError.deleted(entity: "Order", key: "1")) { try order.commit() }
        }
        #expect(calls == [])
    }

    @Test func hooksOfChildrenRunAfterTheirParentsAndWritesBeforeIt() throws {
        let order = Order(title: "one", customer: Customer(name: "Ada"))
        let called = try hooks { try order.commit() }
        #expect(called == ["willInsert one", "willInsert Ada", "didInsert one", "didSave one"])
        #expect(order.customer?.id == 1)
    }

    @Test func aRefusalThrows() throws {
        let order = Order(title: "one", total: -1, customer: Customer(name: "Ada"))
        let called = hooks {
            #expect(throws: MakoError.vetoed(entity: "Order", hook: "willInsert")) { try order.commit() }
        }
        #expect(called == ["willInsert one"])
        #expect(order.id == nil && order.customer?.id == nil)
        #expect(try db.query(Order.self).count() == 0 && db.query(Customer.self).count() == 0)
        order.total = 1
        #expect(try order.isDirty && db.save(order))

        let kept = Order(title: "kept")
        try db.save(kept)
        #expect(throws: MakoError.vetoed(entity: "Order", hook: "willDelete")) { try db.delete(kept) }
        #expect(throws: MakoError.vetoed(entity: "Order", hook: "willDelete")) { try db.delete([kept]) }
        #expect(try db.exists(kept))
        kept.title = "free"
        #expect(try db.delete(kept))
    }

    @Test func aChildsRefusalRefusesTheParent() throws {
        let order = Order(title: "one", customer: Customer(name: "refused"))
        #expect(throws: MakoError.vetoed(entity: "Customer", hook: "willInsert")) { try db.save(order) }
        #expect(throws: MakoError.vetoed(entity: "Customer", hook: "willInsert")) { try db.insert(order) }
        #expect(try db.query(Order.self).count() == 0)
        #expect(throws: MakoError.vetoed(entity: "Customer", hook: "willInsert")) {
            try db.save([Order(title: "first"), order])
        }
        #expect(try db.query(Order.self).count() == 0)
    }

    @Test func inATransactionARefusalEndsIt() throws {
        let good = Order(title: "good")
        var causes: [MakoError] = []
        var answers: [Bool] = []
        var refusals: [MakoError] = []
        #expect(throws: MakoError.vetoed(entity: "Order", hook: "willInsert")) {
            try db.transaction(onRollback: { causes.append($0 as? MakoError ?? .transactionEnded) }) { _ in
                answers.append(try good.commit())
                for order in [Order(title: "bad", total: -1), Order(title: "late")] {
                    do throws(MakoError) { answers.append(try order.commit()) } catch { refusals.append(error) }
                }
                do throws(MakoError) { answers.append(try good.remove()) } catch { refusals.append(error) }
            }
        }
        #expect(answers == [true])
        #expect(refusals == Array(repeating: .vetoed(entity: "Order", hook: "willInsert"), count: 3))
        #expect(causes == [.vetoed(entity: "Order", hook: "willInsert")])
        #expect(good.id == nil)
        #expect(try db.query(Order.self).count() == 0)
        // A savepoint takes the refusal back with everything else.
        try db.transaction { _ in
            try good.commit()
            #expect(throws: MakoError.vetoed(entity: "Order", hook: "willInsert")) {
                try db.transaction { _ in _ = try Order(title: "bad", total: -1).commit() }
            }
            try Order(title: "after").commit()
        }
        #expect(try db.query(Order.self).orderBy(\.title).fetch().map(\.title) == ["after", "good"])
    }

    @Test func hooksAfterATransactionReportTheFinalStateOfEachObject() throws {
        let made = Order(title: "made")
        let gone = Order(title: "gone")
        let called = try hooks {
            try db.transaction { _ in
                try made.commit()
                made.total = 2
                try made.commit()
                try gone.commit()
                try gone.remove()
                calls.note("end")
            }
        }
        #expect(
            called == [
                "willInsert made", "willUpdate made", "willInsert gone", "willDelete gone", "end", "didInsert made",
                "didSave made", "didDelete gone",
            ])
    }

    @Test func rolledBackObjectsGetNoHookAfterTheCommit() throws {
        let kept = Order(title: "stays")
        let called = try hooks {
            try db.transaction { _ in
                try kept.commit()
                #expect(throws: MakoError.rolledBack) {
                    try db.transaction { inner in
                        try Order(title: "undone").commit()
                        try inner.rollback()
                    }
                }
                try Audit(text: "taken").commit()
                // The second of the two fails, so the hooks after the commit of the first do not run either.
                #expect(throws: MakoError.self) {
                    try db.save(Order(title: "half", audit: Audit(text: "taken")))
                }
            }
        }
        #expect(
            called == ["willInsert stays", "willInsert undone", "willInsert half", "didInsert stays", "didSave stays"])
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                try Order(title: "never").commit()
                throw Stop()
            }
        }
        #expect(try db.query(Order.self).fetch().map(\.title) == ["stays"])
    }

    private struct Stop: Error {}

    @Test func hooksMayChangeTheObjectAndSaveOthers() throws {
        let order = Order(title: "audited")
        try db.save(order)
        #expect(order.audit?.text == "inserted" && order.audit?.id == 1)
        order.title = "raised"
        try db.save(order)
        #expect(try db.find(Order.self, 1)?.total == 1)
        _ = try hooks { try Order(title: "follow").commit() }
        #expect(try db.query(Audit.self).where("text = 'followed'").count() == 1)
    }

    @Test func whatAHookSavedGoesWithTheCallItWasPartOf() throws {
        try db.save(Audit(text: "taken"))
        try db.transaction { _ in
            _ = hooks {
                #expect(throws: MakoError.self) {
                    try db.save(Order(title: "logged", audit: Audit(text: "taken")))
                }
            }
        }
        #expect(try db.query(Audit.self).fetch().map(\.text) == ["taken"])
        #expect(try db.query(Order.self).count() == 0)
    }

    @Test func aHookThatLeadsBackEnds() throws {
        let order = Order(title: "again")
        #expect(try hooks { try order.commit() } == ["willInsert again", "didInsert again", "didSave again"])
        #expect(try hooks { try order.remove() } == ["willDelete again", "didDelete again"])
        #expect(try db.query(Order.self).count() == 0)
    }

    @Test func whatHasFailedIsNotMadeGoodByASavepoint() throws {
        #expect(throws: MakoError.vetoed(entity: "Order", hook: "willInsert")) {
            try db.transaction { _ in
                _ = try? Order(title: "bad", total: -1).commit()
                _ = try? db.transaction { _ in try Order(title: "inside").commit() }
                _ = try? Order(title: "late").commit()
            }
        }
        #expect(try db.query(Order.self).count() == 0)
    }

    @Test func aRefusalInAHookRefusesTheCall() throws {
        let order = Order(title: "leading")
        #expect(throws: MakoError.vetoed(entity: "Order", hook: "willInsert")) { try db.save(order) }
        #expect(try order.id == nil && db.query(Order.self).count() == 0)
    }

    @Test func aHookMayRemoveWhatIsBeingChanged() throws {
        let order = Order(title: "one")
        try db.save(order)
        order.title = "leaving"
        #expect(try db.save(order) == false)
        #expect(try db.query(Order.self).count() == 0)
        #expect(throws: MakoError.deleted(entity: "Order", key: "1")) { try db.save(order) }
    }

    @Test func whatAHookChangedIsUndoneWithAFailedCall() throws {
        try db.save(Audit(text: "taken"))
        let order = Order(title: "raised")
        try db.save(order)
        try db.transaction { _ in
            order.total = 5
            order.audit = Audit(text: "taken")
            #expect(throws: MakoError.self) { try db.save(order) }
            #expect(order.total == 5)
            order.audit = nil
            try order.commit()
        }
        #expect(try db.find(Order.self, 1)?.total == 6)
    }

    @Test func duplicatesAreReportedToTheHookThatSavesThem() throws {
        let orders = (0..<20).map { Order(title: "logged", total: $0) }
        try db.save(orders)
        #expect(try db.query(Order.self).count() == 20 && db.query(Audit.self).count() == 1)
    }

    @Test func aTypeFirstUsedByAHookOfAFailedCallIsBoundAgain() throws {
        try db.save(Audit(text: "taken"))
        try db.transaction { _ in
            #expect(throws: MakoError.self) { try db.save(Order(title: "first", audit: Audit(text: "taken"))) }
            try Audit(text: "other").commit()
        }
        #expect(try db.query(Fresh.self).count() == 0)
        try db.save(Fresh(text: "later"))
        try db.save(Heartbeat(number: 1))
        #expect(try db.query(Fresh.self).fetch().map(\.text) == ["later"])
    }

    @Test func hooksRunForDeletedRowsWithoutAnObject() throws {
        let ada = Customer(name: "Ada")
        try db.save([Order(title: "one", customer: ada), Order(title: "two", customer: ada)])
        let called = try hooks { try db.delete(ada) }
        #expect(called == ["willDelete one", "willDelete two", "didDelete one", "didDelete two"])
        try db.save([Order(title: "three"), Order(title: "kept")])
        #expect(throws: MakoError.vetoed(entity: "Order", hook: "willDelete")) { try db.query(Order.self).delete() }
        #expect(try db.query(Order.self).count() == 2)
        #expect(try hooks { try db.query(Order.self).where("title = 'three'").delete() }.count == 2)
    }

    @Test func loadedObjectsRunTheirHook() throws {
        try db.save([Customer(name: "Ada"), Customer(name: "Bob")])
        try db.save(Order(title: "one", customer: try db.find(Customer.self, 2)))
        #expect(try hooks { _ = try db.query(Customer.self).fetch() } == ["didLoad Ada", "didLoad Bob"])
        #expect(try hooks { _ = try db.find(Customer.self, 1) } == ["didLoad Ada"])
        #expect(try hooks { _ = try db.find(Customer.self, [2, 1]) } == ["didLoad Bob", "didLoad Ada"])
        #expect(try hooks { _ = try db.find(Order.self, 1)?.customer } == ["didLoad Bob"])
        let ada = try #require(try db.find(Customer.self, 1))
        #expect(try hooks { try db.refresh(ada) } == ["didLoad Ada"])
    }
}
