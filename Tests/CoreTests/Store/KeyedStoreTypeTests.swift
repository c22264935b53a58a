import Foundation
import Testing

@testable import MakoCore

private enum Mail {
    struct Draft: Codable, Equatable, Sendable { var text: String }
    struct Box<T> { struct Item {} }
}
private enum Blog {
    struct Draft: Codable, Equatable, Sendable { var text: String }
}

/// The types of values in keyed stores.
@Suite struct KeyedStoreTypeTests {
    @Test func typesOfOneNameInDifferentTypesAreDifferent() throws {
        let store = try Database.inMemory().store("drafts")
        try store.set(Mail.Draft(text: "Dear Ada"), for: "draft")
        try store.set([Mail.Draft(text: "Dear Bob")], for: "drafts")
        #expect(try store.value(Mail.Draft.self, for: "draft") == Mail.Draft(text: "Dear Ada"))
        #expect(try store.value([Mail.Draft].self, for: "drafts") == [Mail.Draft(text: "Dear Bob")])
        #expect(
            throws: MakoError.storedAsOtherType(
                store: "drafts", key: "draft", stored: "Mail.Draft", requested: "Blog.Draft")
        ) {
            try store.value(Blog.Draft.self, for: "draft")
        }
        #expect(throws: MakoError.self) { try store.value([Blog.Draft].self, for: "drafts") }
        let other = try store.value(Blog.Draft.self, for: "draft", converting: true)
        #expect(other == Blog.Draft(text: "Dear Ada"))
        #expect(try store.info(for: "draft")?.typeName == "Mail.Draft")
    }

    /// Earlier versions stored the names without the outer types.
    @Test func shortNamesOfEarlierVersionsAreRead() {
        #expect(StoreTypeNames.matches("Draft", Mail.Draft.self))
        #expect(StoreTypeNames.matches("Mail.Draft", Mail.Draft?.self))
        #expect(StoreTypeNames.matches("Array<Draft>", [Mail.Draft].self))
        #expect(!StoreTypeNames.matches("Blog.Draft", Mail.Draft.self))
    }

    @Test func namesHaveNoModulesAndNoPlaces() {
        struct Local {}
        #expect(StoreTypeNames.qualified(Int.self) == "Int")
        #expect(StoreTypeNames.qualified([String: Mail.Draft?].self) == "Dictionary<String, Optional<Mail.Draft>>")
        #expect(StoreTypeNames.qualified(Mail.Box<Blog.Draft>.Item.self) == "Mail.Box<Blog.Draft>.Item")
        #expect(StoreTypeNames.qualified(String.Encoding.self) == "String.Encoding")
        #expect(StoreTypeNames.qualified(Local.self) == "KeyedStoreTypeTests.Local")
        #expect(StoreTypeNames.withoutModules("App.(unknown context at $10f2).Draft") == "Draft")
    }
}
