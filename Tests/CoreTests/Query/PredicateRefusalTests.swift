import Foundation
import MakoCore
import Testing

/// Unsupported expressions of a `#Predicate`: provokes each row of the table in `docs/where.md` and compares its
/// message.
@Suite struct PredicateRefusalTests {
    private typealias Parts = PredicateExpressions

    private struct Crate: Codable, Comparable {
        var tons = 3

        static func < (left: Crate, right: Crate) -> Bool { left.tons < right.tons }
    }

    /// Messages that no test can reach: the compiler rejects such predicates, or they need a type that does not exist
    /// here (an object by itself is compared only if it is Equatable).
    private static let unreachable = [
        "an object by itself has no value; name one of its properties",
        "a range of this kind", "contains(…) of a value that may be nil", "the comparison … is not translated",
        "the calculation … is not translated",
    ]

    private static func nested(
        _ inner: some StandardPredicateExpression<Bool>, _ levels: Int
    ) -> any StandardPredicateExpression<Bool> {
        levels == 0 ? inner : nested(Parts.build_Negation(inner), levels - 1)
    }

    /// The predicates that are refused, and their messages.
    private static func cases() -> [(String, Predicate<Vessel>)] {
        let crate = Crate()
        let crates = Crate(tons: 1)...Crate(tons: 5)
        let span = 1...3
        let flags = [true]
        return [
            ("ConditionalCast of Vessel.tons is not translated", #Predicate { ($0.tons as Any) as? Int == 3 }),
            ("it is nested too deeply", Predicate { _ in nested(Parts.build_Arg(true), 101) }),
            (
                "it names a variable of another predicate",
                Predicate { _ in
                    let other = Parts.Variable<Vessel>()
                    return Parts.build_Equal(
                        lhs: Parts.build_KeyPath(root: other, keyPath: \Vessel.tons), rhs: Parts.build_Arg(3))
                }
            ),
            ("… is used on a value that is no property", #Predicate { ($0.tons + 1).bitWidth == 3 }),
            ("… is no stored property", #Predicate { $0.tons.magnitude == 3 }),
            ("… is no stored property", #Predicate { $0.ports.contains { $0.first == nil } }),
            ("… reads one of many", #Predicate { $0.ports.first == "Kiel" }),
            ("a captured Crate is no value that a property can have", #Predicate { _ in crate == crate }),
            ("no property is in a ClosedRange<Crate>", #Predicate { _ in crates.contains(crate) }),
            ("a choice between values; choose between conditions", #Predicate { ($0.tons > 3 ? $0.tons : 0) > 3 }),
            ("a constant in place of an optional property", #Predicate { $0.fleet.flatMap { _ in 3 } == 4 }),
            (
                "contains(…) works on properties that hold many, captured lists, ranges and texts",
                Predicate {
                    Parts.build_contains(
                        Parts.build_NilCoalesce(
                            lhs: Parts.build_Arg([String]?.none),
                            rhs: Parts.build_KeyPath(root: $0, keyPath: \Vessel.ports)), Parts.build_Arg("Kiel"))
                }
            ),
            ("contains(…) of a list in another", #Predicate { $0.ports.contains(["Kiel"]) }),
            ("starts(with:) of something that is no text", #Predicate { $0.ports.starts(with: ["Kiel"]) }),
            ("a condition is used where a value is needed", #Predicate { flags.contains($0.tons > 3) }),
            (
                "a captured list, range or value with several columns is used where one value is needed",
                #Predicate { _ in span == span }
            ),
            (
                "contains(where:) works on properties that hold many, and captured lists",
                #Predicate { ($0.fleet.flatMap { $0.name } ?? "").contains { _ in true } }
            ),
            (
                "a condition on each of many must begin with a property of them",
                #Predicate { vessel in vessel.ports.contains { _ in vessel.tons > 1 } }
            ),
        ]
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")

    /// The messages of the table, with `…` for names.
    private static func rows() throws -> [String] {
        let text = try String(contentsOf: root.appending(path: "docs/where.md"), encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        let head = try #require(lines.firstIndex(of: "| what is said of a `#Predicate` | where |"))
        return lines[(head + 2)...].prefix { $0.hasPrefix("|") }.map {
            $0.components(separatedBy: " | ")[0].trimmingCharacters(in: ["|", " "])
        }
    }

    private static func isOne(_ message: String, of row: String) throws -> Bool {
        let words = row.components(separatedBy: "…").map(NSRegularExpression.escapedPattern)
        return message.wholeMatch(of: try Regex(words.joined(separator: ".+"))) != nil
    }

    @Test func eachRowIsBroughtAbout() throws {
        let db = try Database.inMemory(entities: [Fleet.self, Vessel.self])
        let rows = try Self.rows()
        #expect(rows.count >= 19)
        var missing = rows
        for (message, predicate) in Self.cases() {
            let error = #expect(throws: MakoError.self, "\(message)") {
                try db.query(Vessel.self).where(predicate).count()
            }
            let said = "\(try #require(error))"
            let prefix = "#Predicate cannot be answered by the database: "
            let reason = said.hasPrefix(prefix) ? String(said.dropFirst(prefix.count)) : "no reason: \(said)"
            // Foundation calls a key path by its place in memory.
            let isSaid = try Self.isOne(reason, of: message)
            #expect(isSaid, "\(said)")
            let found = try rows.filter { try Self.isOne(reason, of: $0) }
            #expect(found.count == 1, "\(message) is as these rows are: \(found)")
            missing.removeAll(where: found.contains)
        }
        #expect(missing.filter { !Self.unreachable.contains($0) } == [])
    }

    @Test func eachMessageHasARow() throws {
        let rows = try Self.rows()
        let folder = Self.root.appending(path: "Sources/MakoCore/Query")
        let message = try Regex(
            #"\.predicate\(\s*"((?:[^"\\]|\\\((?:[^()]|\([^()]*\))*\))*)""#, as: (Substring, Substring).self)
        let interpolation = try Regex(#"(?:\\\((?:[^()]|\([^()]*\))*\))+"#)
        var found = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path()) where name.hasPrefix("Predicate")
        {
            let code = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            for match in code.matches(of: message) {
                let words = String(match.output.1).replacing(interpolation, with: "…")
                #expect(rows.contains(words) || Self.unreachable.contains(words), "\(name): \(words)")
                found += 1
            }
        }
        #expect(found >= 25)
    }
}
