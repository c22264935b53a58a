import MakoStorage
import Testing

@testable import MakoCommand
@testable import MakoRecords

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
            for (id, name) in [(1, "held"), (2, "noted"), (3, "owned"), (4, "free")] as [(Int64, String)] {
                writer.begin(tags.layout)
                writer.set(0, .text(name))
                try tags.insert(&writer, key: .rowID(id), in: tx, changes: &changes)
            }
            writer.begin(posts.layout)
            writer.set(0, .text("first"))
            writer.set(1, .integer(3))
            writer.set(2, .blob(KeyTree.list([.key(.rowID(1))]).encoded))
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
}
