/// The syntax of object names.
enum ObjectName {
    /// The parts of a name; nil when the name is invalid.
    static func parts(_ name: String) -> [Substring]? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.allSatisfy(isPart) ? parts : nil
    }

    static func isPart(_ part: some StringProtocol) -> Bool {
        !part.isEmpty && part.utf8.first != UInt8(ascii: ".") && part.utf8.count <= 200
            && part.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
                default: false
                }
            }
    }

    /// Compares names by their bytes.
    static func isBefore(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    /// A number with leading zeros, so that names sort by their numbers.
    static func padded(_ number: UInt64, _ digits: Int, radix: Int = 10) -> String {
        let text = String(number, radix: radix)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// The names of the objects of one database.
struct ReplicaNames: Sendable, Hashable {
    /// The common prefix of all databases.
    static func root(_ prefix: String) -> String { prefix.isEmpty ? "" : prefix + "/" }

    /// The database's identity as 32 hexadecimal digits.
    let database: String
    let identity: ReplicaIdentity
    /// The prefix of all objects of the database.
    let folder: String

    init(prefix: String, database: String) {
        self.database = database
        identity = ReplicaIdentity(
            high: UInt64(database.prefix(16), radix: 16) ?? 0, low: UInt64(database.dropFirst(16), radix: 16) ?? 0)
        folder = ReplicaNames.root(prefix) + database + "/"
    }

    static func database(high: UInt64, low: UInt64) -> String {
        ObjectName.padded(high, 16, radix: 16) + ObjectName.padded(low, 16, radix: 16)
    }

    private func branch(_ number: UInt64) -> String { folder + ObjectName.padded(number, 6) + "/" }

    /// The branch of an object; nil when the name is not that of an object of a branch.
    func branch(_ name: String) -> UInt64? {
        guard name.hasPrefix(folder) else { return nil }
        let digits = name.dropFirst(folder.count).prefix { $0 != "/" }
        // More digits would not sort as numbers do.
        guard digits.utf8.count == 6, let number = UInt64(digits), number > 0 else { return nil }
        let fixed = [origin(number), head(number), kept(number)]
        let isKnown = fixed.contains(name) || name.hasPrefix(sequence(number)) || name.hasPrefix(fulls(number))
        return isKnown ? number : nil
    }

    /// Sorts behind each object of a branch and before those of the next one, because `0` comes behind `/`.
    func end(of branch: UInt64) -> String { folder + ObjectName.padded(branch, 6) + "0" }

    func origin(_ branch: UInt64) -> String { self.branch(branch) + "origin" }
    func head(_ branch: UInt64) -> String { self.branch(branch) + "head" }
    func kept(_ branch: UInt64) -> String { self.branch(branch) + "kept" }
    func fulls(_ branch: UInt64) -> String { self.branch(branch) + "full/" }
    func sequence(_ branch: UInt64) -> String { self.branch(branch) + "seq/" }
    func sequence(_ branch: UInt64, _ number: UInt64) -> String {
        sequence(branch) + ObjectName.padded(number, ReplicaNames.sequenceDigits)
    }

    /// The name of a full backup. It contains the digest, so that different backups of one commit have different names.
    func full(_ branch: UInt64, _ commit: UInt64, digest: UInt64) -> String {
        fulls(branch) + ObjectName.padded(commit, 20) + "-" + ObjectName.padded(digest, 16, radix: 16)
    }

    private static let sequenceDigits = 12

    /// The commit in the name of a full backup.
    func fullCommit(_ name: String, in branch: UInt64) -> UInt64? {
        let prefix = fulls(branch)
        guard name.hasPrefix(prefix) else { return nil }
        return UInt64(name.dropFirst(prefix.count).prefix { $0 != "-" })
    }

    /// The number in the name of an object of a sequence.
    func number(_ name: String, in branch: UInt64) -> UInt64? {
        let prefix = sequence(branch)
        guard name.hasPrefix(prefix) else { return nil }
        let digits = name.dropFirst(prefix.count)
        guard let number = UInt64(digits), number > 0, sequence(branch, number) == name else { return nil }
        return number
    }
}
