import MakoCore
import MakoStorage
import MakoTestSupport

/// The changes that observers of the three classes were notified of since the last `take()`.
final class NotifiedChanges: @unchecked Sendable {
    struct Notified {
        let kind: ObjectKind
        let change: ChangeKind
        let key: RowKey?
        let object: (any ObjectEntity)?
    }

    private let lock = Lock()
    // Guarded by `lock`.
    private var notified: [Notified] = []
    private var tokens: [ChangeToken] = []

    init(_ database: Database) throws {
        tokens = [
            try Club.onChange(in: database) { [weak self] in self?.note(.club, $0) },
            try Member.onChange(in: database) { [weak self] in self?.note(.member, $0) },
            try Badge.onChange(in: database) { [weak self] in self?.note(.badge, $0) },
        ]
    }

    private func note<T: ObjectEntity>(_ kind: ObjectKind, _ change: ObjectChange<T>) {
        lock.withLock {
            notified.append(Notified(kind: kind, change: change.kind, key: change.key, object: change.object))
        }
    }

    func take() -> [Notified] {
        lock.withLock {
            defer { notified = [] }
            return notified
        }
    }

    /// Checks that each change of the transaction was notified once, with the state in which it left the object.
    ///
    /// - Parameter keyOf: the key of an object that is known, nil for others. Its values are compared with the model
    ///   elsewhere.
    func check(from before: RecordModel, to after: RecordModel, keyOf: (any ObjectEntity) -> RowKey?) throws {
        var rest: [ObjectKind: [RowKey: Notified]] = [:]
        for notified in take() {
            guard let key = notified.key, rest[notified.kind, default: [:]].updateValue(notified, forKey: key) == nil
            else {
                throw Disagreement("\(notified.kind) \(notified.key.map { "\($0)" } ?? "") is notified twice")
            }
        }
        for kind in ObjectKind.allCases {
            guard let old = before.tables[kind.table], let new = after.tables[kind.table] else { continue }
            let notified = rest[kind] ?? [:]
            for key in Set(old.rows.map(\.key)).union(new.rows.map(\.key)).union(notified.keys) {
                let (was, isNow) = (old.row(key), new.row(key))
                let expected: ChangeKind? =
                    switch (was, isNow) {
                    case (nil, nil): nil
                    case (nil, _): .insert
                    case (_, nil): .delete
                    // A row that was changed and changed back may be notified.
                    default: was == isNow && notified[key] == nil ? nil : .update
                    }
                guard notified[key]?.change == expected else {
                    throw Disagreement(
                        "\(kind) \(key) is notified as \(notified[key].map { "\($0.change)" } ?? "nothing"), "
                            + "not as \(expected.map { "\($0)" } ?? "nothing")")
                }
                guard let isNow, let notified = notified[key] else { continue }
                guard let object = notified.object else {
                    throw Disagreement("\(kind) \(key) is notified without object")
                }
                if let known = keyOf(object) {
                    if known != key { throw Disagreement("\(kind) \(key) is notified with the object of \(known)") }
                } else if !LiveObject(object).shows(isNow.values) {
                    throw Disagreement("\(kind) \(key) is notified with other values than it has")
                }
            }
        }
    }
}

/// An object of one of the three classes.
enum LiveObject {
    case club(Club), member(Member), badge(Badge)

    init(_ object: any ObjectEntity) {
        switch object {
        case let member as Member: self = .member(member)
        case let badge as Badge: self = .badge(badge)
        case let club as Club: self = .club(club)
        default: self = .club(Club(name: "none of the three"))
        }
    }

    var object: any ObjectEntity {
        switch self {
        case .club(let club): club
        case .member(let member): member
        case .badge(let badge): badge
        }
    }

    /// The properties that are no references, as a row holds them.
    func shows(_ values: [StoredValue]) -> Bool {
        switch self {
        case .club(let club): values[0] == .text(club.name)
        case .member(let member):
            values[0] == .text(member.name) && values[1] == .integer(Int64(member.age))
                && values[2] == (member.number.map { .integer(Int64($0)) } ?? .null)
        case .badge(let badge): values[0] == .text(badge.code) && values[1] == .text(badge.note)
        }
    }

    func target(_ place: Int) -> (any ObjectEntity)? {
        switch self {
        case .club: nil
        case .member(let member): place == 3 ? member.club : member.mentor
        case .badge(let badge): badge.holder
        }
    }

    var id: RowKey? {
        switch self {
        case .club(let club): club.id.map { .rowID(Int64($0)) }
        case .member(let member): member.id.map { .rowID(Int64($0)) }
        case .badge: nil
        }
    }

    var isDirty: Bool {
        switch self {
        case .club(let club): club.isDirty
        case .member(let member): member.isDirty
        case .badge(let badge): badge.isDirty
        }
    }
}
