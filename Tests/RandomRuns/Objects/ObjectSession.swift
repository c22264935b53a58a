import MakoCore
import MakoRecords
import MakoStorage
import MakoTestSupport

/// One process of a random run of the object layer.
package final class ObjectSession: RandomSession {
    /// A reference, because the ids of new objects are known only when they are saved.
    package final class State {
        var file: RecordModel

        init(_ file: RecordModel) { self.file = file }
    }

    struct Stop: Error {}

    /// The states after each commit.
    package let history: CrashHistory<State>
    package internal(set) var operations = 0
    let plan: RoundPlan
    let log: StepLog
    var random: SplitMix
    var model: ObjectModel
    /// The objects that the model's objects stand for.
    var objects: [LiveObject] = []
    /// How many transactions are running, one inside the other.
    var depth = 0
    private let disk: SimulatedDisk
    private var database: Database?
    private var notified: NotifiedChanges?
    /// The first failure of the disk.
    private var failure: (any Error)?

    init(on disk: SimulatedDisk, from file: RecordModel, _ plan: RoundPlan) {
        self.disk = disk
        self.plan = plan
        log = plan.log
        model = ObjectModel(file: file)
        random = SplitMix(seed: plan.seed)
        history = CrashHistory(State(file), on: disk)
    }

    package func close() throws {
        dropObjects()
        notified = nil
        let closing = database
        database = nil
        try closing?.close()
    }

    package func abandon() {
        disk.cutPower()
        dropObjects()
        notified = nil
        database = nil
    }

    package func shows(_ states: ArraySlice<State>) throws -> Bool {
        guard let database else { return true }
        let found = try database.read { try database.store.read { try RecordState(reading: $0) } }
        return states.contains { $0.file.state == found }
    }

    package func work() throws {
        try open()
        try compare()
        for _ in 0..<plan.steps {
            do { try step() } catch let error as any DiskFailure where error.isDiskFailure {
                log("    failed: \(error)")
                failure = failure ?? error
                if database == nil { break }
                try settle()
            }
        }
        if let failure { throw failure }
        try compare()
        try verify()
    }

    // MARK: Steps

    func opened() throws -> Database {
        guard let database else { throw Disagreement("the run goes on without a database") }
        return database
    }

    /// Releases objects that refer to each other in a cycle.
    private func dropObjects() {
        for case .member(let member) in objects { member.mentor = nil }
        objects = []
        model.objects = []
    }

    private func open() throws {
        var options = DatabaseOptions(cacheBytes: plan.cacheBytes)
        options.storage = plan.options(disk)
        let entities: [any Entity.Type] = [Badge.self, Club.self, Member.self]
        let isNew = model.file.tables.isEmpty
        if isNew, plan.seed % 2 == 0 { options.history = .kept() }
        if plan.seed % 3 == 0 { options.fileLocking = .perTransaction }
        if isNew {
            // The tables are made while the database is opened, in one transaction.
            for schema in try Database.inMemory(entities: entities).tables {
                model.file.tables[schema.name] = ModelTable(schema)
            }
            history.begin(State(model.file))
        }
        let database = try Database(at: RoundPlan.path, entities: entities, options: options)
        if isNew { history.acknowledge() }
        notified = try NotifiedChanges(database)
        self.database = database
    }

    private func reopen() throws {
        log("reopen")
        try close()
        if failure == nil { history.acknowledge() }
        try open()
        // The surviving part of a failed commit is visible now, and lasts.
        if failure != nil {
            try settle()
            history.found(State(model.file))
        }
        try compare()
    }

    /// After a failure the state of the open database decides what has happened; the run continues with it.
    private func settle() throws {
        guard let database else { return }
        let found = try database.read { try database.store.read { try RecordState(reading: $0) } }
        // A sync that lies takes with it what there was every reason to acknowledge.
        let first = plan.diskLies ? 0 : history.span.acknowledged
        let files = history.states[first...history.span.begun].map(\.file)
        guard let file = RecordModel.showing(found, among: files) else {
            throw Disagreement("after a failure the open database shows a state of its own")
        }
        dropObjects()
        _ = notified?.take()
        model.file = file
        if files.last != file { history.begin(State(file)) }
    }

    private func step() throws {
        operations += 1
        switch random.below(100) {
        case 0..<5:
            log("checkpoint")
            let database = try opened()
            try database.read { try database.store.checkpoint() }
            history.acknowledge()
        case 5..<12:
            let count = 1 + random.below(4)
            log("step \(count)")
            let database = try opened()
            try database.read { for _ in 0..<count { _ = try database.store.step() } }
        case 12..<16: try reopen()
        case 16..<18: try verify()
        case 18..<50: try act()
        default: try transaction()
        }
    }

    /// A transaction, or inside one a nested one.
    func transaction() throws {
        let before = (model: model, count: objects.count)
        let isOuter = depth == 0
        let durability: Durability? = isOuter ? random.pick([nil, nil, nil, .ordered, .async, .full]) : nil
        let fate = random.below(10)
        log("\(indent)begin")
        depth += 1
        do {
            defer { depth -= 1 }
            try opened().transaction(durability: durability) { transaction in
                for _ in 0..<(1 + random.below(isOuter ? 8 : 4)) { try act() }
                if fate >= 8 { throw Stop() }
                if fate == 7 { try transaction.rollback() }
                log("\(indent)commit")
                if isOuter { history.begin(State(model.file)) }
            }
            if fate >= 7 { throw Disagreement("a transaction that was rolled back has ended well") }
        } catch {
            let isExpected = error is Stop && fate >= 8 || (error as? MakoError) == .rolledBack && fate == 7
            if isExpected { log("\(indent)rolled back") }
            if !isExpected, (error as? any DiskFailure)?.isDiskFailure != true { throw error }
            // Objects are as they were before it; those made in it are not looked at any more.
            model = before.model
            objects.removeLast(objects.count - before.count)
            try compareObjects()
            if isExpected, isOuter { try checkNotifications(from: before.model.file) }
            if !isExpected { throw error }
            return
        }
        try compareObjects()
        guard isOuter else { return }
        // An empty commit promises nothing, not even for the commits before it.
        // Once the file is unlocked, every commit is durable.
        let isUnlocked = try opened().store.isSuspended
        if durability == nil || durability == .full || isUnlocked, model.file != before.model.file {
            history.acknowledge()
        }
        if durability == .ordered { history.noteWritten() }
        try checkNotifications(from: before.model.file)
    }

    var indent: String { String(repeating: "  ", count: depth) }

    // MARK: Comparing

    /// Checks that observers were notified of exactly what was committed.
    func checkNotifications(from before: RecordModel) throws {
        try notified?.check(from: before, to: model.file) { object in
            objects.indices.first { objects[$0].object === object }.flatMap { model.objects[$0].key }
        }
    }

    private func compare() throws {
        let database = try opened()
        let found = try database.read { try database.store.read { try RecordState(reading: $0) } }
        if let difference = found.difference(from: model.file.state) { throw Disagreement(difference) }
        try replay()
    }

    /// Values, keys, references and whether they are dirty, of every object in memory.
    func compareObjects() throws {
        for (place, live) in objects.enumerated() {
            let object = model.objects[place]
            func differs(_ what: String) -> Disagreement {
                Disagreement("object \(place), \(object.kind) \(object.values): \(what)")
            }
            guard live.shows(object.values) else { throw differs("its values are others: \(live)") }
            if live.isDirty != (!object.dirty.isEmpty || !object.exists) {
                throw differs("whether it is dirty is wrong")
            }
            if object.kind != .badge, live.id != object.key {
                throw differs(
                    "its id is \(live.id.map { "\($0)" } ?? "none"), not \(object.key.map { "\($0)" } ?? "none")")
            }
            for (column, _) in object.kind.references {
                guard let reference = object.references[column] else {
                    if live.target(column) != nil { throw differs("column \(column) refers to something") }
                    continue
                }
                // A reference that was not followed stays so: following it would make it hold the object.
                guard let target = reference.object else { continue }
                let found = live.target(column)
                // A reference to a removed object is dropped by the commit of a save.
                if model.objects[target].isRemoved && found == nil { continue }
                if found !== objects[target].object { throw differs("column \(column) refers to another") }
            }
        }
    }

    /// The change history from its beginning leads to all rows.
    private func replay() throws {
        let events: [HistoryEvent]
        do { events = try opened().history(since: nil) } catch MakoError.historyNotKept { return }
        var keys: [String: Set<RowKey>] = [:]
        for event in events {
            guard let batch = event.batch else { throw Disagreement("the history misses commits") }
            for change in batch.changes {
                let isThere = keys[change.entity, default: []].contains(change.key)
                if isThere == (change.kind == .insert) {
                    throw Disagreement("commit \(event.token.commit): \(change), and it is there: \(isThere)")
                }
                if change.kind == .delete {
                    keys[change.entity]?.remove(change.key)
                } else {
                    keys[change.entity, default: []].insert(change.key)
                }
            }
        }
        for (name, table) in model.file.tables where keys[name, default: []] != Set(table.rows.map(\.key)) {
            throw Disagreement("the history leads to other rows of \(name)")
        }
    }

    private func verify() throws {
        log("verify")
        let database = try opened()
        let report = try database.read { try database.store.verify() }
        // On a failing disk a finding is an answer.
        guard report.isClean || plan.diskFails else { throw Disagreement("verify: \(report.findings)") }
    }
}
