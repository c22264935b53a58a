import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `FromBZObjectStore.md`.
enum BZGuide {
    // EXAMPLE FromBZObjectStore.md
    @Entity final class SampleModel {
        var name: String?
        var price = 0
        var sample: SampleModel?
    }
    // EXAMPLE ends

    static func opened(_ path: String) throws -> (Database, Database) {
        // EXAMPLE FromBZObjectStore.md
        let db = try Database(at: path, entities: [SampleModel.self])
        let memory = try Database.inMemory()
        // EXAMPLE ends
        return (db, memory)
    }

    static func saved(_ db: Database) throws -> (SampleModel, SampleModel) {
        // EXAMPLE FromBZObjectStore.md
        let sample1 = SampleModel(name: "sample1", price: 100)
        let sample2 = SampleModel(name: "sample2", price: 50, sample: sample1)
        try db.save(sample1)
        try db.save([sample1, sample2])
        // EXAMPLE ends
        return (sample1, sample2)
    }

    static func fetched(_ db: Database, _ sample1: SampleModel) throws -> ([SampleModel], [SampleModel], Bool, Int) {
        // EXAMPLE FromBZObjectStore.md
        let all = try db.query(SampleModel.self).fetch()
        try db.refresh(sample1)  // this object has the stored values now
        let referrers = try sample1.referencing(SampleModel.self)
        let isThere = try db.exists(sample1)
        let referrerCount = try sample1.referencedCount()
        // EXAMPLE ends
        return (all.array, referrers, isThere, referrerCount)
    }

    static func conditioned(_ db: Database, _ sample1: SampleModel) throws -> [[SampleModel]] {
        // EXAMPLE FromBZObjectStore.md
        let dear = try db.query(SampleModel.self)
            .where("name = ? AND price > ?", "sample1", 50)
            .orderBy("name DESC").limit(20).offset(0)
            .fetch()
        let from = try db.query(SampleModel.self).referenced(by: sample1).fetch()  // reference.from = sample1
        let to = try db.query(SampleModel.self).referencing(sample1).fetch()  // reference.to = sample1
        let unused = try db.query(SampleModel.self).referenced(by: .null).fetch()  // reference.from = NSNull
        let leaves = try db.query(SampleModel.self).referencing(.null).fetch()  // reference.to = NSNull
        // EXAMPLE ends
        return [dear.array, from.array, to.array, unused.array, leaves.array]
    }

    static func counted(_ db: Database) throws -> (Int, Int?, Int?, Int, Double, Double?) {
        // EXAMPLE FromBZObjectStore.md
        let samples = db.query(SampleModel.self)
        let count = try samples.count()
        let max = try samples.max(\.price)
        let min = try samples.min(\.price)
        let sum = try samples.sum(\.price)
        let total = try samples.sum("price")  // a Double
        let avg = try samples.avg(\.price)
        // EXAMPLE ends
        return (count, max, min, sum, total, avg)
    }

    static func deleted(_ db: Database, _ sample1: SampleModel, _ sample2: SampleModel) throws -> Int {
        // EXAMPLE FromBZObjectStore.md
        try db.delete(sample1)
        try db.delete([sample1, sample2])
        let count = try db.query(SampleModel.self).where("name = 'sample3'").delete()
        // EXAMPLE ends
        return count
    }

    static func dropped(_ db: Database) throws {
        // EXAMPLE FromBZObjectStore.md
        try db.drop(SampleModel.self)
        // EXAMPLE ends
    }

    static func transacted(_ db: Database, _ sample1: SampleModel, _ isBad: Bool) throws {
        // EXAMPLE FromBZObjectStore.md
        try db.transaction { tx in
            try db.save(sample1)
            if isBad { try tx.rollback() }
        }
        // EXAMPLE ends
    }

    // EXAMPLE FromBZObjectStore.md
    @Entity("orders") final class OrderModel {
        @Attribute(.identity) var no: String?  // OSIdenticalAttribute
        @Relationship(.owned) var items: [ItemModel] = []  // deleted when they leave, and with the order
        @Relationship(.weak) var agent: AgentModel?  // OSWeakReferenceAttribute: neither saved nor deleted along
        @Transient var row = 0  // OSIgnoreAttribute
        @Attribute(.keepWhenNil) var note: String?  // OSNotUpdateIfValueIsNullAttribute
        @Attribute(.writeOnce) var registered: Date?  // OSOnceUpdateAttribute
        @Attribute(.column("state_text")) var state = ""  // OSColumnName

        func didLoad() { log("loaded") }  // OSModelDidLoad
        func didSave() { log("saved") }  // OSModelDidSave
        func didDelete() { log("deleted") }  // OSModelDidDelete
    }

    @Entity final class ItemModel {
        var code: String?
        var price = 0
    }

    @Entity final class AgentModel {
        var name: String?
    }
    // EXAMPLE ends

    static func upserted(_ db: Database) throws -> OrderModel {
        // EXAMPLE FromBZObjectStore.md
        try db.save(OrderModel(no: "A1", items: [ItemModel(code: "x"), ItemModel(code: "y")], note: "first"))
        let again = OrderModel(no: "A1", items: [ItemModel(code: "z")], state: "paid")
        try db.save(again)  // the same row; x and y are gone, the note stays
        // EXAMPLE ends
        return again
    }

    // EXAMPLE FromBZObjectStore.md
    @Entity final class NodeModel {
        var name: String?
        @Relationship(.owned) var children: [NodeModel] = []
        @Relationship(.owned) var named: [String: NodeModel] = [:]
        @Relationship(.owned) var rows: [[NodeModel]] = []
    }
    // EXAMPLE ends

    static func graph(_ db: Database) throws -> NodeModel {
        // EXAMPLE FromBZObjectStore.md
        let leaf = NodeModel(name: "leaf")
        let root = NodeModel(name: "root", children: [leaf, NodeModel(name: "other")], named: ["first": leaf])
        leaf.children = [root]  // circles are saved and loaded
        try db.save(root)
        // EXAMPLE ends
        return root
    }

    static func away(_ db: Database, _ object: SampleModel) async throws -> Int {
        // EXAMPLE FromBZObjectStore.md
        try await db.save(object)
        let objects = try await db.query(SampleModel.self).fetch()
        // EXAMPLE ends
        return objects.count
    }

    static func watched(_ sample1: SampleModel) throws -> ChangeToken {
        // EXAMPLE FromBZObjectStore.md
        let token = try sample1.onChange { change in
            log(change.kind == .delete ? "deleted" : "saved \(change.object?.name ?? "")")
        }
        // EXAMPLE ends
        return token
    }

    static func active() throws -> Int {
        // EXAMPLE FromBZObjectStore.md
        let sample = SampleModel(name: "active")
        try sample.commit()
        let count = try SampleModel.query().where(\.price == 0).count()
        try sample.remove()
        // EXAMPLE ends
        return count
    }

    @Entity final class Author: Codable {
        var name = ""
    }

    // EXAMPLE FromBZObjectStore.md
    @Entity(stamps: true) final class StampedModel {  // createdAt, updatedAt
        var text = ""
        @Attribute(.serialized) var authors: [Author] = []  // their class is Codable
        @Attribute(.loadOnRefresh) var scan: Data?
    }
    // EXAMPLE ends

    static func connected(_ db: Database, _ json: Data) throws {
        // EXAMPLE FromBZObjectStore.md
        let rows = try JSONSerialization.jsonObject(with: json) as? [[String: Any]] ?? []
        try db.transaction { _ in
            for row in rows {
                var values = row
                let codes = values.removeValue(forKey: "items") as? [String] ?? []
                let order = try OrderModel(values)
                order.items = codes.map { ItemModel(code: $0) }
                try order.commit()
            }
        }
        // EXAMPLE ends
    }

    @TaskLocal static var notified: Collected<String>?
    static func log(_ text: String) { notified?.append(text) }
}

@Suite struct BZObjectStoreGuideTests {
    private typealias E = BZGuide
    private let db: Database
    private let notified = Collected<String>()

    init() throws {
        db = try Database.inMemory(entities: [
            E.SampleModel.self, E.OrderModel.self, E.AgentModel.self, E.NodeModel.self,
        ])
    }

    @Test func methodsOfTheStore() throws {
        try withTemporaryFile { path in
            let (db, memory) = try E.opened(path)
            try memory.close()
            let (sample1, sample2) = try E.saved(db)
            let (all, referrers, isThere, referrerCount) = try E.fetched(db, sample1)
            #expect(all.count == 2 && referrers.map(\.name) == ["sample2"] && isThere && referrerCount == 1)
            let found = try E.conditioned(db, sample1).map { $0.map { $0.name ?? "" } }
            #expect(found == [["sample1"], [], ["sample2"], ["sample2"], ["sample1"]])
            let (count, max, min, sum, total, avg) = try E.counted(db)
            #expect(count == 2 && max == 100 && min == 50 && sum == 150 && total == 150 && avg == 75)
            #expect(throws: MakoError.rolledBack) {
                sample1.price = 1
                try E.transacted(db, sample1, true)
            }
            try E.transacted(db, sample1, false)
            #expect(try E.deleted(db, sample1, sample2) == 0)
            #expect(try db.query(E.SampleModel.self).count() == 0)
            try E.dropped(db)
            #expect(!db.tables.contains { $0.name == "SampleModel" })
            try db.close()
        }
    }

    @Test func optionsOfAttributes() throws {
        try E.$notified.withValue(notified) {
            let again = try E.upserted(db)
            #expect(again.id == 1 && notified.all == ["saved", "saved"])
            let read = try #require(try db.find(E.OrderModel.self, 1))
            #expect(read.items.map(\.code) == ["z"] && read.note == "first" && read.state == "paid")
            #expect(try db.query(E.ItemModel.self).count() == 1)
            // One option does not affect other properties.
            again.no = nil
            again.registered = Date(timeIntervalSince1970: 5)
            try db.save(again)
            #expect(try db.find(E.OrderModel.self, 1)?.no == nil)
            #expect(try db.query(E.OrderModel.self).where("state_text = 'paid'").count() == 1)
            try again.remove()
            #expect(notified.all.last == "deleted" && notified.all.contains("loaded"))
            #expect(try db.query(E.ItemModel.self).count() == 0)
            // Nil identifies nothing.
            try db.save([E.OrderModel(), E.OrderModel()])
            #expect(try db.query(E.OrderModel.self).count() == 2)
        }
    }

    @Test func stamps() throws {
        let model = E.StampedModel(text: "a")
        try db.save(model)
        let created = try #require(model.createdAt)
        Thread.sleep(forTimeInterval: 0.002)
        model.text = "b"
        model.authors = [E.Author(name: "Ada")]
        model.scan = Data([1])
        try db.save(model)
        let read = try #require(try db.find(E.StampedModel.self, 1))
        let updated = try #require(read.updatedAt)
        #expect(read.createdAt == created && updated > created && updated == model.updatedAt)
        #expect(read.authors.map(\.name) == ["Ada"] && read.scan == nil)
        try db.refresh(read)
        #expect(read.scan == Data([1]))
        #expect(try db.query(E.Author.self).count() == 0)
    }

    @Test func graphsAreSavedAndGo() throws {
        let root = try E.graph(db)
        let read = try #require(try db.find(E.NodeModel.self, root.id ?? 0))
        #expect(read.children.map(\.name) == ["leaf", "other"] && read.named["first"] === read.children[0])
        #expect(read.children[0].children[0] === read)
        try read.children[1].remove()
        #expect(try db.query(E.NodeModel.self).count() == 2)
        root.children[0].children = []
    }

    @Test func noticesAndActiveRecords() async throws {
        let sample = E.SampleModel(name: "sample1")
        #expect(try await E.away(db, sample) == 1)
        try E.$notified.withValue(notified) {
            let token = try E.watched(sample)
            sample.name = "renamed"
            try db.save(sample)
            try db.delete(sample)
            #expect(notified.all == ["saved renamed", "deleted"])
            token.cancel()
        }
        #expect(try Database.withDefault(db) { try E.active() } == 1)
    }

    @Test func rowsWithListsBecomeGraphs() throws {
        try E.connected(db, Data(#"[{"no": "A1", "items": ["x", "y"], "state": "new"}, {"no": "A2"}]"#.utf8))
        let orders = try db.query(E.OrderModel.self).orderBy("no").fetch()
        #expect(orders.map { $0.items.map(\.code) } == [["x", "y"], []] && orders[0].state == "new")
    }
}
