import Foundation

/// The list of installed packages that Debian and its relatives keep.
struct PackageList {
    struct Entry {
        var name = ""
        var version = ""
        var section = ""
        var priority = ""
        var summary = ""
        var installedSize = 0
        var isInstalled = false
        var dependencies: [(name: String, constraint: String?)] = []
    }

    static let path = "/var/lib/dpkg/status"

    let entries: [Entry]

    /// `nil` on machines without such a list.
    init?() throws {
        guard FileManager.default.isReadableFile(atPath: Self.path) else { return nil }
        self.init(try String(contentsOfFile: Self.path, encoding: .utf8))
    }

    /// Reads paragraphs of `Field: value` lines with an empty line between them.
    init(_ text: String) {
        var entries: [Entry] = []
        var entry = Entry()
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty {
                if entry.isInstalled { entries.append(entry) }
                entry = Entry()
            } else if let colon = line.firstIndex(of: ":"), line.first != " " {
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                entry.set(line[..<colon], String(value))
            }
        }
        if entry.isInstalled { entries.append(entry) }
        self.entries = entries
    }
}

extension PackageList.Entry {
    fileprivate mutating func set(_ field: Substring, _ value: String) {
        switch field {
        case "Package": name = value
        case "Version": version = value
        case "Section": section = value
        case "Priority": priority = value
        case "Description": summary = value
        case "Installed-Size": installedSize = Int(value) ?? 0
        case "Status": isInstalled = value.hasSuffix(" installed")
        case "Depends", "Pre-Depends": dependencies += value.split(separator: ",").compactMap(Self.dependency)
        default: break
        }
    }

    /// `libc6 (>= 2.36) | musl` is the first of the alternatives: libc6, `>= 2.36`.
    private static func dependency(_ text: Substring) -> (name: String, constraint: String?)? {
        guard let first = text.split(separator: "|").first else { return nil }
        let name = first.prefix { $0 != "(" }.split(separator: ":").first?.trimmingCharacters(in: .whitespaces) ?? ""
        guard !name.isEmpty else { return nil }
        let constraint = first.split(separator: "(").dropFirst().first?.prefix { $0 != ")" }
        return (name, constraint.map(String.init))
    }
}
