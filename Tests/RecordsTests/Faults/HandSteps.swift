import MakoRecords

/// What a script does to a stored table by hand, in the words of its line:
///
///     version=2             # once, for tables of a lower version
///     rename=name,title     # old, new
///     remove=note
///     add=size,7            # an integer column, 7 in each row
///     transform=title       # a text gets a letter more, a number one
///     compute=length,title  # an integer column: the bytes of a text
///     takeover=Q            # the table was Q
///     merge=Q               # the rows of Q come into it, and Q goes
///     split=R,title,part    # a row of R of each row, with its title; the column `part` refers to it
struct HandSteps: Equatable {
    enum Step: Equatable {
        case rename(String, String)
        case remove(String)
        case add(String, Int64)
        case transform(String)
        case compute(String, of: String)
        case takeOver(String)
        case merge(String)
        case split(String, String, linking: String)
    }

    private static let verbs = [
        "version", "rename", "remove", "add", "transform", "compute", "takeover", "merge", "split",
    ]

    var version: UInt64
    var steps: [Step]

    static func isPart(_ word: String) -> Bool {
        guard !word.contains(":"), let end = word.firstIndex(of: "=") else { return false }
        return verbs.contains(String(word[..<end]))
    }

    /// Nil where no word of the line is about a step.
    init?(_ words: [String]) {
        let parts = words.filter(HandSteps.isPart).map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        guard let version = parts.first(where: { $0[0] == "version" }).flatMap({ UInt64($0[1]) }) else { return nil }
        self.version = version
        steps = parts.compactMap { HandSteps.step($0[0], $0[1].split(separator: ",").map(String.init)) }
        guard steps.count == parts.count - 1 else { return nil }
    }

    private static func step(_ verb: String, _ names: [String]) -> Step? {
        switch (verb, names.count) {
        case ("rename", 2): .rename(names[0], names[1])
        case ("remove", 1): .remove(names[0])
        case ("add", 2): Int64(names[1]).map { .add(names[0], $0) }
        case ("transform", 1): .transform(names[0])
        case ("compute", 2): .compute(names[0], of: names[1])
        case ("takeover", 1): .takeOver(names[0])
        case ("merge", 1): .merge(names[0])
        case ("split", 3): .split(names[0], names[1], linking: names[2])
        default: nil
        }
    }

    /// As the record layer takes them.
    func migration(to schema: EntitySchema, dropsRetired: Bool) -> TableMigration {
        let (wanted, steps) = (version, steps.map(\.tableStep))
        return TableMigration(schema, dropsRetired: dropsRetired) { from in
            from < wanted ? (steps, wanted) : ([], from)
        }
    }
}

extension HandSteps.Step {
    fileprivate var tableStep: TableStep {
        switch self {
        case .rename(let old, let new): .rename(old, to: new)
        case .remove(let name): .remove(name)
        case .add(let name, let value): .add(name, .integer, .integer(value))
        case .transform(let name):
            .transform(name, nil) { value in
                switch value {
                case .text(let text): .text(text + "7")
                case .integer(let number): .integer(number &+ 1)
                default: value
                }
            }
        case .compute(let name, let source):
            .compute(name, .integer) { row in
                if case .text(let text) = try row[source] { .integer(Int64(text.utf8.count)) } else { .null }
            }
        case .takeOver(let old): .renameTable(from: old)
        case .merge(let source): .merge(from: source, nil)
        case .split(let target, let column, let link):
            .split(into: target, linking: link) { row in [[column: try row[column]]] }
        }
    }
}
