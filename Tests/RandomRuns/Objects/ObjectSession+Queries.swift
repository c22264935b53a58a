import MakoCore
import MakoRecords
import MakoTestSupport

// Reading through the object layer.
extension ObjectSession {
    private func rows(_ kind: ObjectKind) -> [ModelTable.Row] { model.file.tables[kind.table]?.rows ?? [] }

    /// Takes an object of a row into memory.
    func find() throws {
        let kind = random.pick(ObjectKind.allCases)
        guard let row = rows(kind).randomElement(using: &random) else { return }
        log("\(indent)find \(kind) \(row.key) as \(objects.count)")
        let db = try opened()
        let found: LiveObject? =
            switch kind {
            case .club: try db.find(Club.self, Int(row.key.rowID ?? 0)).map { .club($0) }
            case .member: try db.find(Member.self, Int(row.key.rowID ?? 0)).map { .member($0) }
            case .badge: try db.find(Badge.self, text(row.values[0])).map { .badge($0) }
            }
        guard let found else { throw Disagreement("\(kind) \(row.key) is not found") }
        objects.append(found)
        model.objects.append(ModelObject(kind, row))
        try compareObjects()
    }

    private func text(_ value: Value) -> String {
        if case .text(let text) = value { text } else { "" }
    }

    private func key(_ value: Value) -> RowKey? {
        if case .integer(let id) = value { .rowID(id) } else { nil }
    }

    private func name(_ kind: ObjectKind, _ value: Value) -> String? {
        key(value).flatMap { model.file.tables[kind.table]?.row($0) }.map { text($0.values[0]) }
    }

    /// Queries by key paths, and everything that relations lead to.
    func runQueries() throws {
        switch random.below(4) {
        case 0: try queryAges()
        case 1: try queryClub()
        case 2: try readAll()
        default: try queryMissing()
        }
    }

    private func queryAges() throws {
        let (low, limit) = (random.below(80), 1 + random.below(10))
        log("\(indent)ask for members from \(low)")
        let found = try opened().query(Member.self).where(\.age >= low).orderBy(\.age, .descending).orderBy(\.name)
            .limit(limit).fetch()
        let expected = rows(.member).filter { Ages($0).age >= low }.sorted { a, b in
            let (x, y) = (Ages(a).age, Ages(b).age)
            return x == y ? text(a.values[0]).utf8.lexicographicallyPrecedes(text(b.values[0]).utf8) : x > y
        }
        guard
            found.map({ "\($0.age) \($0.name)" })
                == expected.prefix(limit).map({ "\(Ages($0).age) \(text($0.values[0]))" })
        else { throw Disagreement("members from \(low) are others, or in another order") }
    }

    private func queryClub() throws {
        guard let club = rows(.club).randomElement(using: &random) else { return }
        let name = text(club.values[0])
        log("\(indent)ask for the members of \(name)")
        let expected = rows(.member).filter { key($0.values[3]) == club.key }.compactMap(\.key.rowID).map { Int($0) }
        let db = try opened()
        let found = try db.query(Member.self).where(\.club.name == name).ids()
        guard found.sorted() == expected else { throw Disagreement("\(name) has members \(found), not \(expected)") }
        guard let read = try db.query(Club.self).where(\.name == name).first(),
            try read.members.count == expected.count
        else { throw Disagreement("\(name) does not count its members right") }
    }

    private func queryMissing() throws {
        log("\(indent)ask for members without a number")
        let count = try opened().query(Member.self).where("number IS NULL").count()
        guard count == rows(.member).filter({ $0.values[2].isNull }).count else {
            throw Disagreement("\(count) members without a number")
        }
    }

    /// Reads objects without holding them; their relations may be followed.
    private func readAll() throws {
        log("\(indent)read everything")
        let db = try opened()
        let members = try db.query(Member.self).fetch()
        guard members.compactMap(\.id) == rows(.member).compactMap({ $0.key.rowID.map { Int($0) } }) else {
            throw Disagreement("there are other members")
        }
        for (member, row) in zip(members, rows(.member)) {
            guard LiveObject.member(member).shows(row.values) else { throw Disagreement("\(row.key) is \(member)") }
            guard member.club?.name == name(.club, row.values[3]), member.mentor?.name == name(.member, row.values[4])
            else { throw Disagreement("relations of member \(row.key) lead elsewhere") }
        }
        for member in members { member.mentor = nil }
        let badges = try db.query(Badge.self).orderBy(\.code).fetch()
        guard badges.count == rows(.badge).count else { throw Disagreement("there are other badges") }
        for (badge, row) in zip(badges, rows(.badge)) {
            guard LiveObject.badge(badge).shows(row.values), badge.holder?.name == name(.member, row.values[2]) else {
                throw Disagreement("badge \(row.key) is \(badge)")
            }
        }
    }
}
