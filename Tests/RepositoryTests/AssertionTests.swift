import Testing

/// The invariants of docs/architecture.md and the assertions in the sources name each other: the document lists for each
/// invariant the functions that assert it, and the message of each such assertion begins with the invariant's number.
@Suite struct AssertionTests {
    /// An assertion of an invariant in a function.
    private struct Assertion: Hashable, Comparable, CustomStringConvertible {
        var invariant: Int
        /// The type and the name of the function.
        var function: String

        var description: String { "\(invariant): \(function)" }

        static func < (a: Self, b: Self) -> Bool { (a.invariant, a.function) < (b.invariant, b.function) }
    }

    @Test func eachInvariantNamesItsAssertions() throws {
        let invariants = try Self.invariants()
        #expect(invariants.map(\.number) == Array(1...invariants.count) && invariants.count >= 18)
        var named: Set<Assertion> = []
        for (number, text) in invariants {
            let functions = Self.functions(in: text)
            #expect(functions.isEmpty == text.contains("Not asserted: "), "invariant \(number) names no assertion")
            for function in functions { named.insert(Assertion(invariant: number, function: function)) }
        }
        let found = Set(Repository.files(in: "Sources").flatMap(Self.assertions))
        #expect(named.subtracting(found).sorted().isEmpty, "named in the document, and in no source")
        #expect(found.subtracting(named).sorted().isEmpty, "in a source, and not named in the document")
    }

    @Test func assertionsAreFoundWithTheirFunctions() {
        let source = """
            final class Counter {
                struct State { var count = 0 }
                func add() {
                    assert(count > 0, "invariant 3: it counts")
                    assert(
                        isOpen,
                        "invariant 4: it is open")
                    assert(isOpen, "without a number")
                }
            }
            extension Store.Reader {
                init() {
                    // assert(true, "invariant 5: a comment")
                    print("invariant 6: a text")
                }
            }
            """
        let file = Repository.File(path: "Sources/Counter-of-AssertionTests.swift", text: source)
        let found = Self.assertions(of: file)
        #expect(found.map(\.description) == ["3: Counter.add", "4: Counter.add"])
    }

    /// The numbered items of the section about invariants, each on one line.
    private static func invariants() throws -> [(number: Int, text: String)] {
        let document = try #require(Repository.read("docs/architecture.md"))
        var items: [(number: Int, text: String)] = []
        var isInside = false
        for line in document.split(separator: "\n") {
            if line.hasPrefix("#") {
                isInside = line == "### Invariants and the tests that check them"
            } else if isInside, let item = line.wholeMatch(of: #/(\d+)\. (.*)/#),
                let number = Int(item.output.1)
            {
                items.append((number, String(item.output.2)))
            } else if isInside, !items.isEmpty {
                items[items.count - 1].text += " " + line.drop { $0 == " " }
            }
        }
        return items
    }

    /// The functions that the sentence about assertions names.
    private static func functions(in text: String) -> [String] {
        guard let start = text.firstRange(of: "Asserted in ")?.upperBound else { return [] }
        let rest = text[start...]
        let end = rest.firstRange(of: ". ")?.lowerBound ?? rest.endIndex
        return rest[..<end].matches(of: #/`(\w+\.\w+)`/#).map { String($0.output.1) }
    }

    /// The assertions of a file whose message begins with the number of an invariant.
    private static func assertions(of file: Repository.File) -> [Assertion] {
        guard file.text.contains("\"invariant ") else { return [] }
        let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
        // Without comments and texts.
        let code = file.code.split(separator: "\n", omittingEmptySubsequences: false)
        var found: [Assertion] = []
        var (type, function) = ("", "")
        // The line of the last assertion without a message so far.
        var asserted: Int?
        for (index, line) in code.enumerated() {
            // Types at the margin: a nested one has no assertions.
            if let declared = line.firstMatch(of: #/^(?:[@\w]+ )*(?:class|struct|enum|extension) ([\w.]+)/#) {
                type = String(declared.output.1)
            }
            if let declared = line.firstMatch(of: #/\b(?:func (\w+)|(init)\()/#) {
                function = String(declared.output.1 ?? declared.output.2 ?? "")
                asserted = nil
            }
            if line.contains("assert(") { asserted = index }
            guard let first = asserted, index - first < 5,
                let message = lines[index].firstMatch(of: #/"invariant (\d+): /#), let number = Int(message.output.1)
            else { continue }
            asserted = nil
            found.append(Assertion(invariant: number, function: type + "." + function))
        }
        return found
    }
}
