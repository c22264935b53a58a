import MakoStorage

/// Runs a script against a store on a simulated disk, in step with a model.
///
/// The run knows at every moment which states of the store a crash may leave: those from the last commit that was
/// acknowledged as durable to the last that was begun. The disk notes it with each crash point.
package final class ScriptRun {
    /// A span of `states`: what may be found after a crash.
    package typealias Span = CrashSpan

    /// The data file of every run.
    package static let path = "d/store.mako"

    /// The disk below the store.
    package let disk: SimulatedDisk
    /// The script that is run.
    package let script: Script
    /// The store's content after each commit, the first before any.
    package let history: CrashHistory<ModelStore>
    private var store: Store?
    private var model: ModelStore
    /// A backup, and what was made since.
    private var parts: [(path: String, key: Int)] = []
    private var readers: [String: ScriptReader] = [:]
    private var kept: [String: Kept] = [:]
    /// The key with which the store was opened, or to which it was changed since.
    private var keyNumber = 0

    private struct Kept {
        var snapshot: Snapshot
        var model: ModelStore
        var taken: Duration
        /// A tree to ask whether the snapshot can still be read.
        var tree: Tree?
    }

    private var keyBytes: [String: Int] = [:]
    private var counter: UInt64
    /// How often the store was opened: what an encrypted one draws then must not be what it drew before.
    private var openings: UInt64 = 0
    private let seed: UInt64
    private let clock: TestClock?
    /// When the `async` commits that are in memory only must be durable, the first of them.
    private var due: Duration?
    /// Whether the run verifies; runs on a failing disk compare only, since a finding there is an answer.
    package var verifies = true

    package init(_ script: Script, on disk: SimulatedDisk, from model: ModelStore = ModelStore(), seed: UInt64 = 1) {
        self.script = script
        self.disk = disk
        self.model = model
        self.seed = seed
        counter = seed &* 1_000_003
        clock = script.isTimed ? TestClock() : nil
        history = CrashHistory(model, on: disk)
    }

    /// Returns the options that open a script's store on a disk.
    package static func options(
        _ script: Script, on disk: SimulatedDisk, seed: UInt64 = 1, key: Int = 0
    ) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: seed)
        options.logSegmentBytes = script.logSegmentBytes
        options.checkpointBytes = script.logSegmentBytes / 2
        options.cacheBytes = script.cacheBytes
        options.snapshotAgeLimit = script.snapshotAgeLimit
        options.diskReserveBytes = script.diskReserveBytes ?? options.diskReserveBytes
        options.encryption = script.cipher.map { TestKeys.encryption(key, $0) }
        return options
    }

    /// The store's content after each commit.
    package var states: [ModelStore] { history.states }

    /// The spans that `disk.tag` refers to.
    package var spans: [Span] { history.spans }

    /// The present span.
    package var span: Span { history.span }

    /// Runs all steps, then verifies and closes. A store that does not do what the model does is a `Disagreement`;
    /// what the store throws is passed on.
    package func run(closing: Bool = true) throws {
        try open()
        var rest = script.steps[...]
        while let step = rest.popFirst() {
            if step == .begin {
                let end = rest.firstIndex { $0.isEnd } ?? rest.endIndex
                try transaction(Array(rest[..<end]), end: end < rest.endIndex ? rest[end] : .rollback)
                rest = rest[min(end + 1, rest.endIndex)...]
            } else if step.isChange {
                try transaction([step], end: .commit(nil))
            } else {
                try outside(step)
            }
        }
        if closing { try finish() }
    }

    /// Compares and verifies the open store, then closes it.
    package func finish() throws {
        try checkAll()
        try close()
    }

    /// Compares the open store and every held snapshot with the model, and verifies.
    package func checkAll() throws {
        for name in kept.keys.sorted() { try check(name) }
        kept = [:]
        for name in readers.keys.sorted() { try read(name) }
        try compare()
        try verify()
    }

    /// The content of the open store, nil when none is open.
    package func visible() throws -> ModelStore? {
        guard let store else { return nil }
        let snapshot = try store.snapshot()
        defer { snapshot.close() }
        var found = try ModelStore(reading: snapshot)
        found.keyNumber = keyNumber
        return found
    }

    /// Makes the model's present state this one, after a failure that left it open what happened.
    package func settle(on state: ModelStore) { model = state }

    /// Drops the store as the death of the machine does: further calls of the store have no effect.
    package func abandon() {
        disk.cutPower()
        kept = [:]
        readers = [:]
        store = nil
    }

    /// Releases the held snapshots and closes the store.
    package func close() throws {
        kept = [:]
        let closing = store
        store = nil
        try closing?.close()
    }

    /// The open store, nil when none is open.
    package var openStore: Store? { store }

    // MARK: Steps

    /// - Parameter keys: what it may be locked with, when that is not known.
    private func open(keys: [Int]? = nil) throws {
        openings += script.cipher == nil ? 0 : 1
        var options = ScriptRun.options(
            script, on: disk, seed: seed &+ openings &* 7919 &* (script.cipher == nil ? 0 : 1))
        options.clock = clock
        (store, keyNumber) = try TestKeys.open(with: keys ?? [model.keyNumber], script.cipher, options) {
            try Store(at: ScriptRun.path, options: $0)
        }
        due = nil
    }

    /// Locks the store with another key. What was committed before must not come back without it, so it is made durable before.
    private func changeKey() throws {
        guard let cipher = script.cipher else { throw Disagreement("the store is not encrypted") }
        try opened().checkpoint()
        history.acknowledge()
        readers = [:]
        let before = model
        model.keyNumber += 1
        history.begin(model)
        do { try opened().changeKey(to: TestKeys.encryption(model.keyNumber, cipher)) } catch {
            model = before
            throw error
        }
        keyNumber = model.keyNumber
        history.acknowledge()
    }

    private func work(_ count: Int) throws {
        for _ in 0..<count {
            _ = try opened().step()
            if let due, let clock, clock.now.time >= due {
                history.acknowledge()
                self.due = nil
            }
        }
    }

    /// Notes what the durability of a commit promises.
    private func note(_ durability: Durability?) {
        switch durability {
        // The simulated disk of scripts has no barriers.
        case nil, .full, .barrier:
            history.acknowledge()
            due = nil
        case .ordered: history.noteWritten()
        case .async: noteDelay(.milliseconds(100))
        case .asyncWithin(let delay): noteDelay(delay)
        }
    }

    private func noteDelay(_ delay: Duration) {
        guard let clock else { return }
        due = min(due ?? .seconds(1 << 30), clock.now.time + delay)
    }

    private func opened() throws -> Store {
        guard let store else { throw Disagreement("the script runs on without a store") }
        return store
    }

    private func outside(_ step: ScriptStep) throws {
        switch step {
        case .checkpoint:
            try opened().checkpoint()
            history.acknowledge()
        case .step(let count): try work(count)
        case .tick(let time): clock?.advance(by: .milliseconds(time))
        case .disk(let room): disk.capacity = room.map { disk.usedBytes + UInt64($0) << 10 }
        case .snapshot(let name): try keep(name, model)
        case .check(let name) where script.isLenient && kept[name] == nil: break
        case .check(let name): try check(name)
        case .release(let name): kept[name] = nil
        case .reader(let name): try read(name)
        case .reopen:
            try close()
            history.acknowledge()
            try open()
            try compare()
        case .kill:
            disk.endProcess()
            try openAfterDeath(span.ofEndedProcess)
        case .crash(let seed):
            var random = SplitMix(seed: seed ?? 0)
            let state = disk.crashState()
            disk.restart(on: seed == nil ? state.image([]) : state.randomImage(&random))
            try openAfterDeath(span)
        case .backup(let name):
            let path = ScriptRun.copyPath(name)
            let report = try opened().backup(to: path)
            try compareCopy(at: path, report)
        case .copy(let name):
            let path = ScriptRun.copyPath(name)
            let report = try opened().copy(to: path)
            try compareCopy(at: path, report)
        case .part(let name): try backUpChanges(name)
        case .changeKey: try changeKey()
        case .shrink: try opened().shrink()
        case .compact:
            try close()
            readers = [:]
            parts = []
            history.acknowledge()
            try Store.compact(
                at: ScriptRun.path,
                options: ScriptRun.options(script, on: disk, seed: nextSeed(), key: model.keyNumber))
            try open()
            try compare()
        case .verify:
            try compare()
            try verify()
        default: if !script.isLenient { throw Disagreement("\(step) outside a transaction") }
        }
    }

    /// Opens the files of the former process. The state must be an allowed one, and is the model's from then on.
    private func openAfterDeath(_ span: CrashSpan) throws {
        kept = [:]
        readers = [:]
        store = nil
        let keys = Set(states[span.acknowledged...span.begun].map(\.keyNumber)).sorted().reversed()
        try open(keys: Array(keys))
        guard let found = try visible(), states[span.acknowledged...span.begun].contains(found) else {
            throw Disagreement("what came back after the end of the process is none of the states that may")
        }
        model = found
        history.found(found)
    }

    private func transaction(_ steps: [ScriptStep], end: ScriptStep) throws {
        let before = model
        let transaction = try opened().beginWrite()
        do {
            var savepoints: [String: (number: Int, savepoint: Savepoint, model: ModelStore)] = [:]
            var savepointCount = 0
            for step in steps {
                switch step {
                case .savepoint(let name):
                    savepointCount += 1
                    savepoints[name] = (savepointCount, transaction.savepoint(), model)
                case .rollbackTo(let name):
                    guard let (number, savepoint, saved) = savepoints[name] else {
                        if script.isLenient { continue }
                        throw Disagreement("no savepoint \(name)")
                    }
                    try transaction.rollback(to: savepoint)
                    model = saved
                    savepoints = savepoints.filter { $0.value.number <= number }
                case .forget(let name):
                    guard let (number, savepoint, _) = savepoints[name] else {
                        if script.isLenient { continue }
                        throw Disagreement("no savepoint \(name)")
                    }
                    try transaction.release(savepoint)
                    savepoints = savepoints.filter { $0.value.number < number }
                case .check(let name) where script.isLenient && kept[name] == nil: break
                case .check(let name): try check(name)
                case .snapshot(let name): try keep(name, before)
                case .release(let name): kept[name] = nil
                case .step(let count): try work(count)
                case .tick(let time): clock?.advance(by: .milliseconds(time))
                case .verify:
                    if let difference = try ModelStore(reading: transaction.view).difference(from: model) {
                        throw Disagreement("inside a transaction \(difference)")
                    }
                default: if !script.isLenient || isPossible(step) { try change(step, transaction) }
                }
            }
            guard case .commit(let durability) = end else {
                model = before
                transaction.rollback()
                return
            }
            history.begin(model)
            try transaction.commit(durability: durability)
            // An empty commit promises nothing, not even for the commits before it.
            if model != before { note(durability) }
        } catch {
            model = before
            guard case StorageError.diskFull? = error as? StorageError, disk.capacity != nil, !disk.hasCrashed else {
                throw error
            }
            guard steps.contains(where: \.needsRoom) else {
                // A disk with injected faults may have no space for overwriting either.
                throw verifies ? Disagreement("a deletion was refused: \(error)") : error
            }
        }
    }

    /// Whether the step finds the trees that it needs.
    private func isPossible(_ step: ScriptStep) -> Bool {
        switch step {
        case .tree(let name, _, _, _): model.trees[name] == nil
        case .rename(let name, let other):
            model.trees[name] != nil && (name == other || model.trees[other] == nil)
        case .drop(let name), .put(let name, _, _), .insert(let name, _, _), .delete(let name, _), .deleteAll(let name),
            .stream(let name, _, _), .load(let name, _, _):
            model.trees[name] != nil
        case .deleteRange(let name, _, _): model.trees[name] != nil
        default: false
        }
    }

    private func change(_ step: ScriptStep, _ transaction: borrowing WriteTransaction) throws {
        switch step {
        case .tree(let name, let keys, let length, let options):
            _ = try transaction.createTree(named: name, keys: keys, options: options)
            keyBytes[name] = length
            model.createTree(name, keys)
        case .rename(let name, let other):
            try transaction.renameTree(try tree(name, transaction), to: other)
            keyBytes[other] = keyBytes[name]
            model.renameTree(name, to: other)
        case .drop(let name):
            try transaction.dropTree(try tree(name, transaction))
            model.dropTree(name)
        case .put(let name, let keys, let shape): try put(keys, shape, name, transaction)
        case .stream(let name, let keys, let shape): try stream(keys, shape, name, transaction)
        case .load(let name, let keys, let shape): try load(keys, shape, name, transaction)
        case .insert(let name, let keys, let shape): try insert(keys, shape, name, transaction)
        case .delete(let name, let keys): try delete(keys, name, transaction)
        case .deleteRange(let name, let first, let last):
            try deleteRange(first, last, name, transaction)
        case .deleteAll(let name):
            try transaction.deleteAll(in: try tree(name, transaction))
            model.deleteAll(in: name)
        default: throw Disagreement("\(step) inside a transaction")
        }
    }

    private func deleteRange(
        _ first: UInt64, _ last: UInt64?, _ name: String, _ transaction: borrowing WriteTransaction
    ) throws {
        let tree = try tree(name, transaction)
        let count: UInt64
        let expected: Int
        switch tree.keys {
        case .integer:
            count = try transaction.deleteRange(first...(last ?? .max), in: tree)
            expected = model.delete(first...(last ?? .max), in: name)
        case .bytes:
            let length = keyBytes[name] ?? 0
            let (start, end) = (
                ScriptRun.bytes(first, length: length), last.map { ScriptRun.bytes($0, length: length) }
            )
            count = try transaction.deleteRange(from: start, to: end, in: tree)
            expected = model.delete(from: start, to: end, in: name)
        }
        guard count == UInt64(expected) else {
            throw Disagreement("deleteRange removed \(count) entries, not \(expected)")
        }
    }

    private func put(
        _ keys: KeyRange, _ shape: ValueShape, _ name: String, _ transaction: borrowing WriteTransaction
    ) throws {
        let tree = try tree(name, transaction)
        for number in numbers(keys) {
            let value = shape.value(seed: nextSeed())
            switch key(number, name, tree) {
            case .integer(let key): try transaction.put(value, for: key, in: tree)
            case .bytes(let key): try transaction.put(value, for: key, in: tree)
            }
            model.put(value, for: key(number, name, tree), in: name)
        }
    }

    /// In pieces of a prime number of bytes, so that they end anywhere in a page.
    private func stream(
        _ keys: KeyRange, _ shape: ValueShape, _ name: String, _ transaction: borrowing WriteTransaction
    ) throws {
        let tree = try tree(name, transaction)
        for number in numbers(keys) {
            let value = shape.value(seed: nextSeed())
            func write(_ blob: inout BlobWriter) throws {
                for start in stride(from: 0, to: value.count, by: 1009) {
                    try blob.append(Array(value[start..<min(start + 1009, value.count)]))
                }
            }
            switch key(number, name, tree) {
            case .integer(let key): try transaction.putBlob(for: key, in: tree, write)
            case .bytes(let key): try transaction.putBlob(for: key, in: tree, write)
            }
            model.put(value, for: key(number, name, tree), in: name)
        }
    }

    /// Each key either comes behind all others or is refused, and the load goes on.
    private func load(
        _ keys: KeyRange, _ shape: ValueShape, _ name: String, _ transaction: borrowing WriteTransaction
    ) throws {
        let tree = try tree(name, transaction)
        try transaction.bulkLoad(into: tree) { loader in
            for number in numbers(keys) {
                let value = shape.value(seed: nextSeed())
                let key = key(number, name, tree)
                let isNext = model.trees[name]?.isBehind(key) ?? false
                do {
                    switch key {
                    case .integer(let key): try loader.append(value, for: key)
                    case .bytes(let key): try loader.append(value, for: key)
                    }
                } catch StorageError.invalidArgument where !isNext { continue }
                guard isNext else { throw Disagreement("\(number) was loaded out of order") }
                model.put(value, for: key, in: name)
            }
        }
    }

    private func insert(
        _ keys: KeyRange, _ shape: ValueShape, _ name: String, _ transaction: borrowing WriteTransaction
    ) throws {
        let tree = try tree(name, transaction)
        for number in numbers(keys) {
            let value = shape.value(seed: nextSeed())
            let key = key(number, name, tree)
            let isNew =
                switch key {
                case .integer(let key): try transaction.insert(value, for: key, in: tree)
                case .bytes(let key): try transaction.insert(value, for: key, in: tree)
                }
            guard model.insert(value, for: key, in: name) == isNew else {
                throw Disagreement("insert of \(number) said that it is \(isNew ? "" : "not ")new")
            }
        }
    }

    private func delete(_ keys: KeyRange, _ name: String, _ transaction: borrowing WriteTransaction) throws {
        let tree = try tree(name, transaction)
        for number in numbers(keys) {
            let key = key(number, name, tree)
            let wasThere =
                switch key {
                case .integer(let key): try transaction.delete(key, in: tree)
                case .bytes(let key): try transaction.delete(key, in: tree)
                }
            guard model.delete(key, in: name) == wasThere else {
                throw Disagreement("delete of \(number) said that it was \(wasThere ? "" : "not ")there")
            }
        }
    }

    // MARK: Helpers

    private func tree(_ name: String, _ transaction: borrowing WriteTransaction) throws -> Tree {
        guard let tree = transaction.view.tree(named: name) else { throw Disagreement("tree \(name) is missing") }
        return tree
    }

    private func numbers(_ keys: KeyRange) -> [UInt64] { keys.keys(seed: nextSeed()) }

    private func nextSeed() -> UInt64 {
        counter += 1
        return counter
    }

    private func key(_ number: UInt64, _ name: String, _ tree: Tree) -> ModelKey {
        tree.keys == .integer ? .integer(number) : .bytes(ScriptRun.bytes(number, length: keyBytes[name] ?? 0))
    }

    /// The digits of a number, behind so many equal bytes that the key has this length.
    package static func bytes(_ number: UInt64, length: Int) -> [UInt8] {
        let digits = String(number)
        let text = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        return [UInt8](repeating: UInt8(ascii: "p"), count: max(0, length - text.utf8.count)) + Array(text.utf8)
    }

    private func check(_ name: String) throws {
        guard let found = kept[name] else { throw Disagreement("no snapshot \(name)") }
        if try hasExpired(found) { return }
        if let difference = try ModelStore(reading: found.snapshot).difference(from: found.model) {
            throw Disagreement("snapshot \(name): \(difference)")
        }
    }

    /// Goes on with a chain of incremental backups; what they are together must be the store.
    private func backUpChanges(_ name: String) throws {
        guard let last = parts.last else {
            let base = ScriptRun.copyPath(name + "-base")
            _ = try opened().backup(to: base)
            parts = [(base, model.keyNumber)]
            return
        }
        let part = ScriptRun.copyPath(name) + "-part"
        let report = try opened().backup(
            to: part,
            since: BackupPoint(
                of: last.path, encryption: script.cipher.map { TestKeys.encryption(last.key, $0) }, fileSystem: disk))
        parts.append((part, model.keyNumber))
        let whole = ScriptRun.copyPath(name)
        try Store.restore(
            parts[0].path, applying: parts.dropFirst().map(\.path), to: whole,
            options: ScriptRun.options(script, on: disk, seed: nextSeed(), key: model.keyNumber))
        try compareCopy(at: whole, report)
    }

    /// What a reader in another process shows must be a whole state, not before what was acknowledged, and lasts from then on.
    private func read(_ name: String) throws {
        var options = ScriptRun.options(script, on: disk, key: model.keyNumber)
        options.readOnly = true
        let reader = try readers[name] ?? ScriptReader(path: ScriptRun.path, options: options)
        readers[name] = reader
        let shown = try reader.look(states, span, name)
        // A failing disk may show what is not durable.
        if verifies { history.show(shown) }
    }

    private func keep(_ name: String, _ model: ModelStore) throws {
        let snapshot = try opened().snapshot(label: name)
        kept[name] = Kept(
            snapshot: snapshot, model: model, taken: clock?.now.time ?? .zero, tree: snapshot.trees.first?.tree)
    }

    /// Whether a snapshot was ended; one that is not too old must not be.
    private func hasExpired(_ found: Kept) throws -> Bool {
        guard let limit = script.snapshotAgeLimit, let tree = found.tree else { return false }
        guard let clock, clock.now.time - found.taken > limit else { return false }
        do { _ = try found.snapshot.count(of: tree) } catch StorageError.snapshotExpired { return true }
        return false
    }

    private func compare() throws {
        if let difference = try visible()?.difference(from: model) { throw Disagreement(difference) }
    }

    /// A copy must hold what the store holds, whole, and answer like any database.
    private func compareCopy(at path: String, _ report: CopyReport) throws {
        let copy = try Store(
            at: path, options: ScriptRun.options(script, on: disk, seed: nextSeed(), key: model.keyNumber))
        defer { try? copy.close() }
        if let difference = try copy.read({ try ModelStore(reading: $0) }).difference(from: model) {
            throw Disagreement("\(path): \(difference)")
        }
        guard verifies else { return }
        let findings = try copy.verify().findings
        guard findings.isEmpty else { throw Disagreement("\(path): verify: \(findings)") }
        let commit = try copy.snapshot().commitNumber
        guard commit == report.commitNumber, try commit == opened().snapshot().commitNumber else {
            throw Disagreement("\(path) shows commit \(commit), its report says \(report.commitNumber)")
        }
    }

    /// Where a copy of the store lies.
    static func copyPath(_ name: String) -> String { "d/\(name).mako" }

    private func verify() throws {
        guard verifies else { return }
        let report = try opened().verify()
        guard report.isClean else { throw Disagreement("verify: \(report.findings)") }
    }
}

extension ScriptStep {
    /// Whether a full disk may refuse the step.
    var needsRoom: Bool {
        switch self {
        case .tree, .put, .stream, .load, .insert: true
        default: false
        }
    }

    var isEnd: Bool {
        switch self {
        case .commit, .rollback: true
        default: false
        }
    }
}
