import Foundation
import Testing

/// The page of Mako Studio in the program is the one in `Assets`.
@Suite struct StudioAssetsTests {
    @Test func theEmbeddedPageIsThatOfTheAssets() throws {
        let folder = "Sources/MakoStudio/Assets"
        let source = try #require(Repository.read("Sources/MakoStudio/StudioAssets.swift"))
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.root + "/" + folder)
        #expect(names.contains("index.html"))
        for name in names {
            let text = try #require(Repository.read(folder + "/" + name))
            let escapes = [("\\", "\\\\"), ("\"", "\\\""), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")]
            let literal = escapes.reduce(text) { $0.replacing($1.0, with: $1.1) }
            let line = "\"\(name)\": ("
            #expect(
                source.contains(line) && source.contains(", \"\(literal)\"),\n"),
                "\(name) is another than the embedded one: run scripts/embed-assets")
        }
        #expect(source.split(separator: "\n").count { $0.hasPrefix("        \"") } == names.count)
    }
}
