import Foundation
import MakoRecords
import MakoStorage
import Testing

@testable import MakoCommand

/// Undo of saves: it restores all that a save changed, or refuses.
@Suite struct StudioUndoTests {
    private let database: StudioDatabase

    init() throws {
        let store = try Store.inMemory()
        func any(_ name: String) -> ColumnSchema {
            ColumnSchema(name, .text, isOptional: true, target: AnyReference.anyTable)
        }
        let schemas = [
            EntitySchema(name: "Tag", columns: [ColumnSchema("name", .text)]),
            EntitySchema(
                name: "Post",
                columns: [
                    ColumnSchema("title", .text),
                    ColumnSchema("cover", .reference, isOptional: true, target: "Tag"),
                    ColumnSchema("tags", .keys, isOptional: true, target: "Tag"),
                ], indexes: [IndexSchema("Post.tags", [IndexColumn("tags")])]),
            EntitySchema(name: "Note", columns: [any("about")]),
        ]
        try store.write { tx in
            for schema in schemas { _ = try Catalogue.migrate(to: schema, in: tx) }
            let catalogue = try Catalogue.load(view: tx.view)
            var rules = catalogue.rules
            rules.set(.init(.nullify, isOwned: true), table: "Post", column: "cover", target: "Tag")
            rules.set(.init(.nullify, isOwned: false), table: "Post", column: "tags", target: "Tag")
            rules.set(.init(.nullify, isOwned: false), table: "Note", column: "about", target: AnyReference.anyTable)
            _ = try catalogue.adopting(rules, in: tx)
            let tags = try catalogue.requireTable("Tag")
            let posts = try catalogue.requireTable("Post")
            var writer = RowWriter()
            var changes = ChangeSet()
            let names = ["held", "noted", "owned", "free", "a", "b", "c", "d"]
            for (id, name) in zip(Int64(1)..., names) {
                writer.begin(tags.layout)
                writer.set(0, .text(name))
                try tags.insert(&writer, key: .rowID(id), in: tx, changes: &changes)
            }
            writer.begin(posts.layout)
            writer.set(0, .text("first"))
            writer.set(1, .integer(3))
            writer.set(2, .blob(KeyTree.list([1, 5, 6, 7, 8].map { .key(.rowID($0)) }).encoded))
            try posts.insert(&writer, key: .rowID(1), in: tx, changes: &changes)
        }
        database = StudioDatabase(DatabaseFile(path: "memory", store: store), isWritable: true)
        try run("INSERT INTO Note VALUES (1, 'Tag:2')")
    }

    private func run(_ text: String) throws { _ = try database.file.run(try Statement.parse(text)) }

    private func post(_ path: String, _ body: String) -> (status: Int, text: String) {
        let answer = database.answer(StudioRequest(.post, path, body: Array(body.utf8)))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    private func get(_ path: String, _ values: [String: String]) -> String {
        String(decoding: database.answer(StudioRequest(.get, path, values: values)).body, as: UTF8.self)
    }

    private func exists(_ table: String, _ key: String) -> Bool {
        database.answer(StudioRequest(.get, "row", values: ["table": table, "key": key])).status == 200
    }

    @Test(arguments: ["1", "2"]) func aDeletionThatClearedListsAndReferencesOfAnyTableIsNotUndone(_ key: String) {
        #expect(post("save", #"{"table":"Tag","kind":"delete","key":"\#(key)"}"#).status == 200)
        let undone = post("undo", "{}")
        #expect(undone.status == 409 && undone.text.contains("referred to"))
        #expect(!exists("Tag", key))
    }

    @Test func aDeletionOfARowByItselfIsUndone() {
        #expect(post("save", #"{"table":"Tag","kind":"delete","key":"4"}"#).status == 200)
        #expect(!exists("Tag", "4"))
        #expect(post("undo", "{}").status == 200)
        #expect(exists("Tag", "4"))
    }

    @Test func aSearchForReferencesEndsAtTheFirstOneOrWhenItTakesLong() throws {
        for _ in 0..<11 { try run("INSERT INTO Note (about) SELECT about FROM Note") }
        try database.file.read { view, catalogue in
            let table = StudioTable(try catalogue.requireTable("Tag"), catalogue)
            let counts = try catalogue.referrers(of: table.handle).map { referrer in
                try (1...2).map { key in
                    try referrer.rows(referringTo: .rowID(key), catalogue, view, limit: 1).count
                }
            }
            #expect(Set(counts) == [[0, 0], [0, 1], [1, 0]])
            let cancellation = Cancellation()
            let bonds = try StudioBonds(.rowID(4), table, view, isDeleted: true, cancellation)
            try bonds.requireKept(.rowID(4), table, view)
            cancellation.cancel()
            let unknown = try StudioBonds(.rowID(4), table, view, isDeleted: true, cancellation)
            #expect(throws: StudioRefusal.self) { try unknown.requireKept(.rowID(4), table, view) }
        }
    }

    @Test func anUpdateThatDeletedAnOwnedRowIsNotUndone() {
        let change = #"{"table":"Post","kind":"update","key":"1","values":{"cover":null}}"#
        #expect(post("save", change).status == 200)
        #expect(!exists("Tag", "3"))
        let undone = post("undo", "{}")
        #expect(undone.status == 409 && undone.text.contains("owned"))
    }

    /// The DELETE would delete the owned row, too, which was there before.
    @Test func anInsertionOfARowThatOwnsAnotherIsNotUndone() {
        let change = #"{"table":"Post","kind":"insert","values":{"title":"second","cover":"4"}}"#
        #expect(post("save", change).status == 200)
        #expect(post("undo", "{}").status == 409)
        #expect(exists("Tag", "4"))
    }

    @Test func anUpdateOfARowThatOwnsOthersIsUndone() {
        let change = #"{"table":"Post","kind":"update","key":"1","values":{"title":"other"}}"#
        #expect(post("save", change).status == 200)
        #expect(post("undo", "{}").status == 200)
        #expect(exists("Tag", "3"))
    }

    @Test func theUndoOfAnEarlierSaveIsRefused() {
        let first = post("save", #"{"table":"Tag","kind":"update","key":"4","values":{"name":"a"}}"#)
        let second = post("save", #"{"table":"Tag","kind":"update","key":"2","values":{"name":"b"}}"#)
        #expect(first.text.contains("\"save\":1") && second.text.contains("\"save\":2"))
        let early = post("undo", #"{"save":1}"#)
        #expect(early.status == 409 && early.text.contains("Another save followed"))
        #expect(post("undo", #"{"save":2}"#).status == 200)
        #expect(post("undo", #"{"save":2}"#).status == 409)
    }

    @Test func anUndoThatFindsNoRowSaysSo() throws {
        #expect(post("save", #"{"table":"Tag","kind":"update","key":"4","values":{"name":"a"}}"#).status == 200)
        try run("DELETE FROM Tag WHERE id = 4")
        let undone = post("undo", "{}")
        #expect(undone.status == 409 && undone.text.contains("Nothing was undone"))
    }

    @Test func anUpdateOfValuesThatChangedMeanwhileIsRefused() {
        func save(_ name: String, was: String) -> (status: Int, text: String) {
            post(
                "save",
                #"{"table":"Tag","kind":"update","key":"4","values":{"name":"\#(name)"},"was":{"name":"\#(was)"}}"#)
        }
        #expect(save("a", was: "free").status == 200)
        let late = save("b", was: "free")
        #expect(late.status == 409 && late.text.contains("was changed since"))
        #expect(save("b", was: "a").status == 200)
        let cover = #"{"table":"Post","kind":"update","key":"1","values":{"cover":"4"},"was":{"cover":"3"}}"#
        #expect(post("save", cover).status == 200)
        #expect(post("save", cover).status == 409)
    }

    /// Rows of two tables may have the same key.
    @Test func anUpdateOfAReferenceWhoseTableChangedMeanwhileIsRefused() throws {
        try run("UPDATE Note SET about = 'Tag:1' WHERE id = 1")
        #expect(get("row", ["table": "Note", "key": "1"]).contains("\"text\":\"Tag:1\""))
        func save(was: String) -> (status: Int, text: String) {
            post(
                "save",
                #"{"table":"Note","kind":"update","key":"1","values":{"about":"Tag:4"},"was":{"about":"\#(was)"}}"#)
        }
        #expect(save(was: "Tag:1").status == 200)
        try run("UPDATE Note SET about = 'Post:1' WHERE id = 1")
        let late = save(was: "Tag:1")
        #expect(late.status == 409 && late.text.contains("it is \\\"Post:1\\\" now"))
        #expect(save(was: "Post:1").status == 200)
    }

    @Test func aPageBeforeARowOfAListEndsBeforeIt() {
        let values = ["table": "Post", "key": "1", "list": "tags", "before": "2", "limit": "100"]
        let page = get("related", values)
        #expect(page.components(separatedBy: "\"cursor\"").count == 3)
        #expect(page.contains("\"start\":true") && page.contains("\"end\":false"))
    }

    @Test func aNumberThatIsNoneIsStoredFoundAndRestored() throws {
        try run("CREATE TABLE Number (id INTEGER PRIMARY KEY, x REAL)")
        try run("INSERT INTO Number VALUES (1, 0.5), (2, NULL)")
        let values = ["table": "Number", "key": "3"]
        #expect(post("save", #"{"table":"Number","kind":"insert","values":{"id":"3","x":"NaN"}}"#).status == 200)
        #expect(get("row", values).contains("\"text\":\"NaN\""))
        #expect(post("save", #"{"table":"Number","kind":"delete","key":"3"}"#).status == 200)
        #expect(post("undo", "{}").status == 200)
        #expect(get("row", values).contains("\"text\":\"NaN\""))
        // In order NULL, NaN, 0.5.
        let after = #"["(9e999 - 9e999)","3"]"#
        let rest = get("rows", ["table": "Number", "order": "x", "after": after])
        #expect(rest.contains("\"key\":\"1\"") && !rest.contains("\"key\":\"2\""))
    }
}
