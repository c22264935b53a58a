import Foundation
import MakoStorage
import Testing

@testable import MakoCore
@testable import MakoRecords

/// The numbers of the article *Limits* are those of the sources.
@Suite struct LimitsDocumentTests {
    private static let limits: [String: Int] = [
        "Bytes of a row, its texts and blobs included": Limits.valueBytes,
        "Bytes of a key that is made of properties": Limits.keyBytes,
        "Depth of arrays and objects in a `Codable` value": JSONText.depthLimit,
        "Depth of collections of objects": KeyTree.depthLimit,
        "Stored properties of an entity, those of its superclasses included": EntityModel.propertyLimit,
        "Columns of a table": EntitySchema.columnLimit,
        "Columns that a table has had in all its life": EntitySchema.ordinalLimit,
        "Bytes of the name of a table, a column or an index": EntitySchema.nameLimit,
        "Columns of an index": EntitySchema.indexedLimit, "Columns of a full-text index": EntitySchema.fullTextLimit,
        "Bytes of a word in a full-text index": Tokenizer.termLimit,
        "Depth of brackets, `NOT`, `CASE`, calls and sub-queries in a text": Parser.depthLimit,
        "Links of a chain such as `a + b + c`": Parser.depthLimit,
        "Depth of the tree that these make inside each other": MakoRecords.Condition.depthLimit,
        "Depth of a condition or calculation that Swift builds": MakoRecords.Condition.depthLimit,
        "Steps of a path such as `department.location.name`": Parser.pathLimit,
        "Depth of brackets in a `MATCH` text": MatchParser.depthLimit,
        "Terms of a phrase in a `MATCH` text": MatchParser.phraseLimit,
        "Bytes of the texts that one row of a query makes": Arena.textLimit, "Bytes of a page": pageBytes,
        "Pages of a file": Int(pageNumberLimit), "Bytes of the name of a tree in `MakoStorage`": Limits.nameBytes,
        "Bytes of a key in `MakoStorage`": Limits.keyBytes,
        "Bytes of a value in `MakoStorage` that is read at once": Limits.valueBytes,
    ]

    @Test func numbersAreThoseOfTheSources() throws {
        let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Sources/Mako/Mako.docc/Limits.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var named: [String: Int] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 2, let number = Int(cells[1]) else { continue }
            named[cells[0]] = number
        }
        #expect(named == Self.limits)
        #expect(IndexHandle.columnLimit == 800 && text.contains("keeps the first 800 bytes"))
        #expect(StoreOptions().cacheBytes <= 256 << 20 && text.contains("an eighth of the memory, 256 MiB at most"))
    }

    /// The limits are exact: one more is refused.
    @Test func tablesBeyondALimitAreRefused() throws {
        func refusal(_ schema: EntitySchema) -> String {
            do throws(RecordError) { try schema.validate() } catch { return "\(error)" }
            return ""
        }
        func columns(_ count: Int) -> [ColumnSchema] { (0..<count).map { ColumnSchema("c\($0)", .integer) } }
        func index(_ count: Int) -> IndexSchema { IndexSchema("i", (0..<count).map { IndexColumn("c\($0)") }) }
        let name = String(repeating: "n", count: EntitySchema.nameLimit)
        #expect(refusal(EntitySchema(name: name, columns: columns(EntitySchema.columnLimit))).isEmpty)
        #expect(refusal(EntitySchema(name: name + "n", columns: columns(1))).contains("longer than 500 bytes"))
        #expect(refusal(EntitySchema(name: "T", columns: columns(2001))).contains("more than 2000 columns"))
        #expect(refusal(EntitySchema(name: "T", columns: columns(65), indexes: [index(64)])).isEmpty)
        #expect(refusal(EntitySchema(name: "T", columns: columns(65), indexes: [index(65)])).contains("more than 64"))
    }
}
