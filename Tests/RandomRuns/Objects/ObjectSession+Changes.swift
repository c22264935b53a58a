import MakoCore
import MakoRecords
import MakoTestSupport

// The calls of the object layer, each beside what the model does.
extension ObjectSession {
    func act() throws {
        operations += 1
        // Beyond so many objects old ones are enough.
        let hasRoom = objects.count < 24
        switch random.below(100) {
        case 0..<24:
            if hasRoom { make(random.pick([.member, .member, .member, .club, .badge])) }
            if random.chance(70), let object = objects.indices.last { try save(object) }
        case 24..<42: change()
        case 42..<46: try swapValues()
        case 46..<60: if let object = some() { try save(object) }
        case 60..<63: if let object = some() { try save(object, inserts: true) }
        case 63..<71: if let object = some() { try remove(object) }
        case 71..<75: try saveMany()
        case 75..<78: try removeMatching()
        case 78..<84: if hasRoom { try find() }
        case 84..<92: try runQueries()
        case 92..<95: if let object = some() { try refresh(object) }
        default:
            if depth > 0, depth < 3 { try transaction() }
        }
    }

    private func some() -> Int? { objects.isEmpty ? nil : random.below(objects.count) }

    private func some(_ kind: ObjectKind) -> Int? {
        objects.indices.filter { model.objects[$0].kind == kind }.randomElement(using: &random)
    }

    private func word() -> String { random.pick(["a", "A", "b", "Ab", "é", "long", "\(random.below(500))", "7"]) }

    // MARK: Objects in memory

    private func make(_ kind: ObjectKind) {
        switch kind {
        case .club:
            let name = "club \(random.below(40))"
            objects.append(.club(Club(name: name)))
            model.objects.append(ModelObject(.club, [.text(name)]))
        case .member:
            let (name, age) = (word(), random.below(90))
            let number = random.chance(40) ? random.below(60) : nil
            objects.append(.member(Member(name: name, age: age, number: number)))
            let values: [Value] = [
                .text(name), .integer(Int64(age)), number.map { .integer(Int64($0)) } ?? .null, .null, .null,
            ]
            model.objects.append(ModelObject(.member, values))
        case .badge:
            let (code, note) = ("badge \(random.below(30))", word())
            objects.append(.badge(Badge(code: code, note: note)))
            model.objects.append(ModelObject(.badge, [.text(code), .text(note), .null]))
        }
        let object = objects.count - 1
        log("\(indent)make \(object): \(kind) \(model.objects[object].values)")
        for (place, _) in kind.references where random.chance(45) { refer(object, place) }
    }

    private func refer(_ object: Int, _ place: Int) {
        guard let kind = model.objects[object].kind.references.first(where: { $0.place == place })?.target else {
            return
        }
        let target = random.chance(80) ? some(kind) : nil
        log("\(indent)refer \(object).\(place) to \(target.map { "\($0)" } ?? "nothing")")
        switch (objects[object], target.map { objects[$0] }) {
        case (.member(let member), .club(let club)?): member.club = club
        case (.member(let member), .member(let mentor)?): member.mentor = mentor
        case (.badge(let badge), .member(let holder)?): badge.holder = holder
        case (.member(let member), _): if place == 3 { member.club = nil } else { member.mentor = nil }
        case (.badge(let badge), _): badge.holder = nil
        default: break
        }
        model.refer(object, place, to: target)
    }

    private func change() {
        guard let object = some() else { return }
        let place = random.below(model.objects[object].values.count)
        let value: Value
        switch (objects[object], place) {
        case (.club(let club), _):
            club.name = "club \(random.below(40))"
            value = .text(club.name)
        case (.member(let member), 0):
            member.name = word()
            value = .text(member.name)
        case (.member(let member), 1):
            member.age = random.below(90)
            value = .integer(Int64(member.age))
        case (.member(let member), 2):
            member.number = random.chance(60) ? random.below(60) : nil
            value = member.number.map { .integer(Int64($0)) } ?? .null
        case (.badge(let badge), 0):
            badge.code = "badge \(random.below(30))"
            value = .text(badge.code)
        case (.badge(let badge), 1):
            badge.note = word()
            value = .text(badge.note)
        default: return refer(object, place)
        }
        log("\(indent)set \(object).\(place) to \(value)")
        model.set(value, place, of: object)
    }

    // MARK: Calls

    /// Makes a call that the model permits, or refuses for a reason. A refused call changes nothing, neither in the
    /// file nor in the objects.
    private func attempt<R: Equatable>(
        _ what: String, _ predicted: (inout ObjectModel, (Int) -> RowKey) throws -> R, _ call: () throws -> R
    ) throws {
        log("\(indent)\(what)")
        let before = model
        var after = before
        var last: Int64 = 1 << 40
        var refusal: Refusal?
        do {
            _ = try predicted(&after) { _ in
                last += 1
                return .rowID(last)
            }
        } catch let reason as Refusal { refusal = reason }
        let isAlone = depth == 0
        let state = State(after.file)
        if isAlone, refusal == nil { history.begin(state) }
        let result: R
        do { result = try call() } catch let error as MakoError where !error.isDiskFailure {
            guard let refusal, refusal.matches(error) else {
                throw Disagreement("refused, though the model has \(refusal.map { "\($0)" } ?? "no reason"): \(error)")
            }
            log("\(indent)refused: \(refusal)")
            try compareObjects()
            if isAlone { try checkNotifications(from: before.file) }
            return
        }
        if let refusal { throw Disagreement("not refused, though the model says \(refusal)") }
        // Once more, with the ids that were given.
        after = before
        let expected = try predicted(&after) { [objects] object in objects[object].id ?? .rowID(0) }
        guard result == expected else { throw Disagreement("\(what) answered \(result), not \(expected)") }
        model = after
        // Whatever the rule is: no call leaves such a reference.
        if let found = model.danglingReference { throw Disagreement("\(what): \(found)") }
        try checkIDs(since: before)
        state.file = after.file
        try compareObjects()
        guard isAlone else { return }
        if model.file != before.file { history.acknowledge() }
        try checkNotifications(from: before.file)
    }

    /// New rows have ids that the table never held.
    private func checkIDs(since before: ObjectModel) throws {
        for place in before.objects.indices where before.objects[place].key == nil {
            let object = model.objects[place]
            guard let id = object.key?.rowID, let largest = before.file.tables[object.kind.table]?.largestID else {
                continue
            }
            if id <= largest { throw Disagreement("\(object.kind) got the id \(id), the table has held \(largest)") }
        }
    }

    private func save(_ object: Int, inserts: Bool = false) throws {
        // The id of an object that is saved alone shows only afterwards: not when the disk may fail in between.
        if depth == 0, plan.diskFails { return try inTransaction { try save(object, inserts: inserts) } }
        try attempt("\(inserts ? "insert" : "save") \(object)") { model, newID in
            let isSaved = try model.save(object, inserts: inserts, newID: newID)
            try model.checkEnd()
            return isSaved
        } _: {
            let db = try opened()
            switch objects[object] {
            case .club(let club): return inserts ? try db.insert(club) : try db.save(club)
            case .member(let member): return inserts ? try db.insert(member) : try db.save(member)
            case .badge(let badge): return inserts ? try db.insert(badge) : try db.save(badge)
            }
        }
    }

    private func inTransaction(_ body: () throws -> Void) throws {
        let before = model
        depth += 1
        do {
            defer { depth -= 1 }
            try opened().transaction { _ in
                try body()
                history.begin(State(model.file))
            }
        } catch {
            model = before
            throw error
        }
        if model.file != before.file { history.acknowledge() }
        try checkNotifications(from: before.file)
    }

    /// New and old members together, their index entries being sorted first where they are many.
    private func saveMany() throws {
        if depth == 0, plan.diskFails { return try inTransaction { try saveMany() } }
        let start = objects.count
        for _ in 0..<random.pick([2, 5, 20]) { make(.member) }
        var chosen = Array(start..<objects.count)
        for _ in 0..<random.below(4) {
            if let old = some(.member), !chosen.contains(old) { chosen.insert(old, at: random.below(chosen.count)) }
        }
        if random.chance(50) {
            for old in objects.indices where old < start && !model.objects[old].dirty.isEmpty {
                if model.objects[old].kind == .member, !chosen.contains(old) { chosen.append(old) }
            }
        }
        try saveTogether(chosen)
        // Too many to be held; others may refer to the first few.
        let kept = start + 2
        for place in 0..<kept {
            for (column, reference) in model.objects[place].references where (reference.object ?? 0) >= kept {
                clear(place, column)
            }
        }
        objects.removeLast(objects.count - kept)
        model.objects.removeLast(model.objects.count - kept)
    }

    /// Saves objects of one class by one call.
    private func saveTogether(_ chosen: [Int]) throws {
        try attempt("save together \(chosen)") { model, newID in
            for object in chosen { _ = try model.save(object, inserts: false, newID: newID) }
            try model.checkEnd()
            return true
        } _: {
            var (members, clubs): ([Member], [Club]) = ([], [])
            for place in chosen {
                switch objects[place] {
                case .member(let member): members.append(member)
                case .club(let club): clubs.append(club)
                case .badge: break
                }
            }
            if clubs.isEmpty { try opened().save(members) } else { try opened().save(clubs) }
            return true
        }
    }

    /// Two objects exchange a unique value, and mostly are saved by one call: together, or as one of them leads to the other.
    private func swapValues() throws {
        if depth == 0, plan.diskFails { return try inTransaction { try swapValues() } }
        let kind = random.chance(70) ? ObjectKind.member : .club
        guard let first = some(kind), let second = some(kind), first != second else { return }
        switch (objects[first], objects[second]) {
        case (.member(let one), .member(let other)): (one.number, other.number) = (other.number, one.number)
        case (.club(let one), .club(let other)): (one.name, other.name) = (other.name, one.name)
        default: return
        }
        let place = kind == .member ? 2 : 0
        log("\(indent)swap \(first).\(place) and \(second).\(place)")
        let values = (model.objects[first].values[place], model.objects[second].values[place])
        model.set(values.1, place, of: first)
        model.set(values.0, place, of: second)
        switch random.below(4) {
        case 0..<2: try saveTogether([first, second])
        case 2: try save(first)
        default: break
        }
    }

    private func clear(_ object: Int, _ place: Int) {
        switch objects[object] {
        case .member(let member): if place == 3 { member.club = nil } else { member.mentor = nil }
        case .badge(let badge): badge.holder = nil
        case .club: return
        }
        model.refer(object, place, to: nil)
    }

    private func remove(_ object: Int) throws {
        try attempt("remove \(object)") { model, _ in
            try model.remove(object)
        } _: {
            let db = try opened()
            switch objects[object] {
            case .club(let club): return try db.delete(club)
            case .member(let member): return try db.delete(member)
            case .badge(let badge): return try db.delete(badge)
            }
        }
    }

    private func removeMatching() throws {
        let (low, high) = (random.below(90), random.below(90))
        try attempt("remove members of \(low)..<\(high)") { model, _ in
            let rows = model.file.tables["Member"]?.rows ?? []
            var count = 0
            for row in rows where Ages(row).isWithin(low, high) {
                if try model.removeRow(.member, row.key) { count += 1 }
            }
            return count
        } _: {
            try opened().query(Member.self).where(\.age >= low && \.age < high).delete()
        }
    }

    private func refresh(_ object: Int) throws {
        let kind = model.objects[object].kind
        try attempt("refresh \(object)") { model, _ in
            guard let key = model.storedKey(object), let row = model.file.tables[kind.table]?.row(key) else {
                throw Refusal.notFound
            }
            model.objects[object] = ModelObject(kind, row)
            return true
        } _: {
            let db = try opened()
            switch objects[object] {
            case .club(let club): try db.refresh(club)
            case .member(let member): try db.refresh(member)
            case .badge(let badge): try db.refresh(badge)
            }
            return true
        }
    }
}

/// The age in a row of a member.
struct Ages {
    let age: Int

    init(_ row: ModelTable.Row) {
        if case .integer(let number) = row.values[1] { age = Int(number) } else { age = 0 }
    }

    func isWithin(_ low: Int, _ high: Int) -> Bool { age >= low && age < high }
}
