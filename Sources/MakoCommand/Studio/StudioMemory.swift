import Foundation
import MakoRecords
import MakoStorage

/// What pages remember for the next start, in a file that only its owner can read: the theme for all databases; column
/// widths and queries for each. The server's next port is another origin, whose browser storage is empty.
struct StudioMemory: Sendable {
    /// The names that all databases share, under the empty path.
    private static let shared: Set<String> = ["theme"]
    /// The number of databases whose values are kept.
    private static let databases = 50
    /// The maximum size of the file, and of one value, in bytes.
    private static let limits = (file: 8 << 20, value: 128 << 10)

    /// The file itself where the path is a symbolic link, which must not be replaced; nil: nothing is kept.
    let path: String?
    /// The absolute path of the database.
    let database: String

    /// - Parameter isKept: false for an encrypted database, because queries contain its values.
    init(of database: String, isKept: Bool, path: String? = defaultPath) {
        self.path = isKept ? path.flatMap { path in try? POSIXFileSystem().target(of: path) } : nil
        self.database = URL(fileURLWithPath: database).standardizedFileURL.path
    }

    /// The default file: `$MAKO_STUDIO`, or `.mako_studio` in the home directory.
    static var defaultPath: String? {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["MAKO_STUDIO"] { return path.isEmpty ? nil : path }
        return environment["HOME"].map { $0 + "/.mako_studio" }
    }

    /// The values for this database.
    var values: JSONValue {
        let all = stored() ?? []
        return .object(members(of: "", all) + members(of: database, all))
    }

    /// Replaces one value. Errors are ignored: the page works without.
    func keep(_ name: String, _ value: JSONValue) {
        guard let path, name.utf8.count <= 400, value.text.utf8.count <= Self.limits.value, var all = stored() else {
            return
        }
        let owner = Self.shared.contains(name) ? "" : database
        let kept = members(of: owner, all).filter { !Self.isSame($0.key, name) } + [(name, value)]
        all.removeAll { Self.isSame($0.key, owner) }
        all.append((owner, .object(kept)))
        // The database written last is at the end. What all of them share has no place among them.
        let ofDatabases = all.filter { !$0.key.isEmpty }.suffix(Self.databases)
        let text = JSONValue.object(all.filter { $0.key.isEmpty } + ofDatabases).text
        if text.utf8.count <= Self.limits.file { Self.write(text, path) }
    }

    /// By bytes, because files and tables may have names that differ only by canonical equivalence.
    private static func isSame(_ one: String, _ other: String) -> Bool { TextKey(one) == TextKey(other) }

    private func members(
        of owner: String, _ all: [(key: String, value: JSONValue)]
    ) -> [(key: String, value: JSONValue)] {
        guard case .object(let members)? = all.first(where: { Self.isSame($0.key, owner) })?.value else { return [] }
        return members
    }

    /// The content of the file, none if there is no file; nil if the file is another one, which must not be replaced.
    private func stored() -> [(key: String, value: JSONValue)]? {
        guard let path, FileManager.default.fileExists(atPath: path) else { return [] }
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.limits.file else { return nil }
        var scanner = JSONScanner(ByteInput(bytes: Array(data), name: path))
        guard case .object(let members)? = try? scanner.value() else { return nil }
        return members.map { ($0.key, $0.value) }
    }

    /// Replaces the file at once, so that no other process reads a part of it.
    private static func write(_ text: String, _ path: String) {
        let new = path + ".\(ProcessInfo.processInfo.processIdentifier)"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let isWritten = (try? file.write(contentsOf: Data(text.utf8))) != nil
        if !isWritten || rename(new, path) != 0 { try? FileManager.default.removeItem(atPath: new) }
    }
}
