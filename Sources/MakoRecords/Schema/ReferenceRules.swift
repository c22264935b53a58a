// The delete rules of a database: the value of the tree "mako.catalogue" under the key 00 03. Numbers are little
// endian; a text is its length (4) and its UTF-8.
//
//   format (1) = 1, count (4), then for each reference, sorted by these bytes: table, column, target, rule
//   (1: nullify 0, cascade 1, deny 2), flags (1: owned 1)
//
// The flag "must write" 1 in the header declares them: a program that does not apply them must not write the file.

/// The delete rules of a database's references, as its types declare them.
///
/// They are stored in the catalogue, so that every writer applies them, with or without the types. A table without
/// types has no rules: statements refuse to delete a row that others refer to.
package struct ReferenceRules: Sendable, Hashable {
    /// The rule of one reference.
    package struct Entry: Sendable, Hashable {
        /// The delete rule.
        package var rule: ReferenceRule
        /// Whether a row is deleted when its last owner, by this reference, no longer refers to it.
        package var isOwned: Bool

        /// Makes an entry.
        package init(_ rule: ReferenceRule, isOwned: Bool) {
            self.rule = rule
            self.isOwned = isOwned
        }
    }

    /// The names of a reference, which are equal in any Unicode composition (decision 56).
    private struct Key: Hashable {
        let table: String
        let column: String
        let target: String

        init(_ table: String, _ column: String, _ target: String) {
            (self.table, self.column, self.target) = (table, column, target)
        }

        var encoded: [UInt8] {
            var sink = ByteSink()
            for text in [table, column, target] { sink.text(text) }
            return sink.bytes
        }
    }

    private var entries: [Key: Entry] = [:]

    /// Makes an empty set of rules.
    package init() {}

    /// Whether there are no rules.
    package var isEmpty: Bool { entries.isEmpty }

    /// Returns the rule of a column for rows of one table. A column that refers to rows of any table has a rule for all
    /// tables, and may have others for single ones.
    func entry(_ table: String, _ column: String, target: String) -> Entry? {
        entries[Key(table, column, target)] ?? entries[Key(table, column, AnyReference.anyTable)]
    }

    /// Sets a rule.
    ///
    /// - Parameter target: the name of the referenced table, or ``AnyReference/anyTable``.
    package mutating func set(_ entry: Entry, table: String, column: String, target: String) {
        entries[Key(table, column, target)] = entry
    }

    /// Removes a rule.
    ///
    /// - Parameter target: the name of the referenced table, or ``AnyReference/anyTable``.
    package mutating func remove(table: String, column: String, target: String) {
        entries[Key(table, column, target)] = nil
    }

    /// Returns the rules of references that exist in the tables.
    func fitting(_ tables: [EntitySchema]) -> ReferenceRules {
        var columns: Set<Key> = []
        for table in tables {
            for column in table.liveColumns {
                if let target = column.target { columns.insert(Key(table.name, column.name, target)) }
            }
        }
        var fitting = ReferenceRules()
        for (key, entry) in entries {
            if columns.contains(key) || columns.contains(Key(key.table, key.column, AnyReference.anyTable)) {
                fitting.entries[key] = entry
            }
        }
        return fitting
    }

    /// Returns the rules without those of one table's columns.
    func without(table: String) -> ReferenceRules {
        var left = ReferenceRules()
        for (key, entry) in entries where key.table != table { left.entries[key] = entry }
        return left
    }

    /// Returns the rules for renamed tables.
    func renamed(_ newName: (String) -> String) -> ReferenceRules {
        var renamed = ReferenceRules()
        for (key, entry) in entries {
            renamed.entries[Key(newName(key.table), key.column, newName(key.target))] = entry
        }
        return renamed
    }

    // MARK: Stored form

    private static let format: UInt8 = 1

    var encoded: [UInt8] {
        var sink = ByteSink()
        sink.byte(Self.format)
        sink.number(UInt32(truncatingIfNeeded: entries.count))
        var bytes = sink.bytes
        let sorted = entries.map { (names: $0.key.encoded, entry: $0.value) }
            .sorted { KeyOrder.precedes($0.names, $1.names) }
        for (names, entry) in sorted {
            bytes += names
            bytes += [entry.rule.rawValue, entry.isOwned ? 1 : 0]
        }
        return bytes
    }

    init(_ bytes: [UInt8]) throws(RecordError) {
        var source = ByteSource(bytes, what: "the delete rules")
        guard try source.byte() == Self.format else {
            throw .catalogueDamaged(reason: "the delete rules have another format")
        }
        for _ in 0..<(try source.count()) {
            let names = [try source.text(), try source.text(), try source.text()]
            guard let rule = ReferenceRule(rawValue: try source.byte()) else { throw source.damaged }
            let flags = try source.byte()
            guard flags < 2 else { throw source.damaged }
            entries[Key(names[0], names[1], names[2])] = Entry(rule, isOwned: flags == 1)
        }
        guard source.isAtEnd else { throw source.damaged }
    }

    /// Returns the rules with the exact names of their targets. A rule for the exact name has precedence over one for a
    /// name in another case.
    func resolved(_ names: TargetNames) -> ReferenceRules {
        var names = names
        var resolved = self
        for (key, entry) in entries {
            let target = names.name(of: key.target)
            if target == key.target { continue }
            resolved.entries[key] = nil
            let own = Key(key.table, key.column, target)
            if entries[own] == nil { resolved.entries[own] = entry }
        }
        return resolved
    }
}
