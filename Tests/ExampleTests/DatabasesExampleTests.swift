import Foundation
import Mako
import MakoRecords
import MakoStorage
import TestHelpers
import Testing

/// The examples of the article `Databases.md`.
enum DatabasesExample {
    // EXAMPLE Databases.md
    enum Rank: String { case crew, officer }

    @Entity final class Member {
        var name = ""
        @Attribute(.unique) var number: Int?
        var rank: Rank = .crew
        var sponsor: Member?
    }

    /// Stored in the database that is registered as "club".
    @Entity(database: "club") final class Dinghy {
        var name = ""
    }
    // EXAMPLE ends

    static func opened(_ path: String, _ folder: URL) throws -> [Database] {
        // EXAMPLE Databases.md
        let db = try Database(at: path, entities: [Member.self])  // opened, or created
        let archive = try Database(at: folder.appendingPathComponent("archive.mako"))
        let scratch = try Database.inMemory(entities: [Member.self])
        // EXAMPLE ends
        return [db, archive, scratch]
    }

    static func lowered(_ db: Database) throws {
        // EXAMPLE Databases.md
        try db.setCacheBytes(4 << 20)  // 4 MiB
        // EXAMPLE ends
    }

    static func shipped(_ db: Database, _ path: String) throws {
        // EXAMPLE Databases.md
        try db.backup(to: path, compacting: true)  // where the program is built: one small file
        // EXAMPLE ends
    }

    static func bundled(_ path: String) throws -> (Database, Int) {
        // EXAMPLE Databases.md
        let options = DatabaseOptions(readOnly: true)
        let bundled = try Database(at: path, entities: [Member.self], options: options)
        let count = try bundled.query(Member.self).count()
        // EXAMPLE ends
        return (bundled, count)
    }

    static func named(_ archive: Database) throws -> [String] {
        // EXAMPLE Databases.md
        let names = try Database.withDefault(archive) {
            try Member.query().orderBy(\.name).fetch().map(\.name)
        }
        // EXAMPLE ends
        return names
    }

    static func switched(_ name: String, _ folder: URL, _ before: Database?) throws -> Database {
        // EXAMPLE Databases.md
        /// Opens the database of a user in place of the one before.
        func open(_ user: String, closing former: Database?) throws -> Database {
            let file = folder.appendingPathComponent("\(user).mako")
            let db = try Database(at: file, entities: [Dinghy.self])
            Database.register(db, as: "club")  // or Database.default = db, for entities that name none
            try former?.close()
            return db
        }
        // EXAMPLE ends
        return try open(name, closing: before)
    }

    static func shared(_ path: String) throws -> Bool {
        // EXAMPLE Databases.md
        let first = try Database(at: path, entities: [Member.self])
        let second = try Database(at: path)
        let isOne = first === second  // true: opened twice, and closed when both have closed it
        try first.close()
        try second.save(Member(name: "Ada"))
        try second.close()
        // EXAMPLE ends
        return isOne
    }

    static func followed(_ path: String, _ db: Database) throws -> (Database, Int, Int) {
        // EXAMPLE Databases.md
        let reading = DatabaseOptions(readOnly: true)
        let reader = try Database(at: path, entities: [Member.self], options: reading)
        let before = try reader.query(Member.self).count()
        try db.save(Member(name: "Bob"))  // by this process or another
        try reader.refresh()  // true: there was something new
        let after = try reader.query(Member.self).count()  // one more
        // EXAMPLE ends
        return (reader, before, after)
    }

    static func suspended(_ db: Database) throws -> Bool {
        // EXAMPLE Databases.md
        try db.suspend(timeout: .seconds(2))  // waits for the running transaction; all commits are durable
        let isSuspended = db.isSuspended  // true
        try db.resume()  // false: no other process has committed
        // EXAMPLE ends
        return isSuspended
    }

    static func byTurns(_ path: String) throws -> [String] {
        // EXAMPLE Databases.md
        var options = DatabaseOptions()
        options.fileLocking = .perTransaction
        options.writerTimeout = .seconds(5)  // for another process; then MakoError.writerTimeout
        let app = try Database(at: path, entities: [Member.self], options: options)
        try app.transaction { try app.save([Member(name: "Eve"), Member(name: "Flo")]) }  // one turn
        let members = app.query(Member.self).orderBy(\.name)
        let names = try app.read { try members.fetch().map(\.name) }  // another turn
        try app.refresh()  // true if another process has committed; notifies live queries and handlers
        // EXAMPLE ends
        try app.close()
        return names
    }

    static func soft(_ db: Database) throws {
        // EXAMPLE Databases.md
        try db.transaction(durability: .async(maxDelay: .seconds(1))) { _ in
            try db.save(Member(name: "Cem"))  // durable within a second
        }
        try db.save(Member(name: "Dee"))  // durable when it returns, and all before it
        // EXAMPLE ends
    }

    static func lookedAfter(_ db: Database) throws -> [String] {
        var lines: [String] = []
        func print(_ items: Any...) { lines.append(items.map { "\($0)" }.joined(separator: " ")) }
        // EXAMPLE Databases.md
        let report = try db.verify()
        if !report.isClean { print(report.findings, report.damagedCopies) }
        try db.compact()
        let stats = db.store.stats
        print("\(stats.livePages) of \(stats.filePages) pages in use,", stats.readOnlyReason ?? "writable")
        print(db.metrics.commits, db.metrics.lazyLoads, db.metrics.liveQueries)
        // EXAMPLE ends
        return lines
    }

    static func backedUp(_ db: Database, _ sunday: String, _ monday: String, _ restored: String) throws -> [Int] {
        var seen: [Int] = []
        func show(_ done: Int, _ total: Int) { seen.append(total - done) }
        // EXAMPLE Databases.md
        try db.backup(to: sunday) { progress in show(progress.done, progress.total) }
        // EXAMPLE ends
        try db.save(Member(name: "Monday"))
        // EXAMPLE Databases.md
        let point = try BackupPoint(of: sunday)  // import MakoStorage
        try db.store.backup(to: monday, since: point)  // the next day: what has changed
        try Store.restore(sunday, applying: [monday], to: restored)  // when it is needed
        // EXAMPLE ends
        return seen
    }

    static func salvaged(_ damaged: String, _ saved: String) throws -> (Bool, [String]) {
        var lines: [String] = []
        func print(_ items: Any...) { lines.append(items.map { "\($0)" }.joined(separator: " ")) }
        // EXAMPLE Databases.md
        let report = try Database.salvage(from: damaged, to: saved)
        for table in report.tables where !table.isComplete {
            let lost = table.missing.map { "\($0)" } ?? "an unknown number"
            print(table.name, table.rows, "saved,", lost, "lost")
        }
        if !report.isComplete { print(report.storage.findings + report.findings) }
        // EXAMPLE ends
        return (report.isComplete, lines)
    }

    static func encrypted(_ path: String, _ keyBytes: [UInt8], _ newBytes: [UInt8]) throws -> Database {
        // EXAMPLE Databases.md
        var options = DatabaseOptions()
        options.encryption = .key(keyBytes)  // 32 random bytes, out of the system's key store
        let db = try Database(at: path, entities: [Member.self], options: options)
        try db.changeKey(to: .key(newBytes))  // a moment, whatever the size of the file
        // EXAMPLE ends
        return db
    }

    static func plain(_ path: String, _ newBytes: [UInt8]) throws {
        // EXAMPLE Databases.md
        let options = DatabaseOptions(encryption: .key(newBytes))
        try Database.encrypt(at: path, with: nil, options: options)  // rewritten as plain text
        // EXAMPLE ends
    }

    static func outcome(of member: Member, in db: Database) -> String {
        // EXAMPLE Databases.md
        func save(_ member: Member) -> String {
            do throws(MakoError) {
                try db.save(member)
                return "saved"
            } catch {
                switch error {
                case .duplicate(_, let properties, _): return "taken: \(properties.joined(separator: ", "))"
                case .storage(.diskFull): return "the disk is full: delete a few members at a time"
                case .readOnly, .closed: return "not now"
                default: return "\(error)"  // what was wrong, where, and what to do
                }
            }
        }
        // EXAMPLE ends
        return save(member)
    }

    static func listened(_ db: Database, _ log: @escaping @Sendable (MakoError) -> Void) -> Task<Void, Never> {
        // EXAMPLE Databases.md
        let failures = db.errors
        let listener = Task {
            for await failure in failures { log(failure.error) }
        }
        // EXAMPLE ends
        return listener
    }
}

@Suite struct DatabasesExampleTests {
    private typealias E = DatabasesExample

    private func folder(of path: String) -> URL { URL(fileURLWithPath: path).deletingLastPathComponent() }

    /// A closed database with so many members.
    private func fill(_ path: String, _ count: Int) throws {
        let db = try Database(at: path, entities: [E.Member.self])
        try db.save((0..<count).map { E.Member(name: "member \($0)", number: $0) })
        try db.close()
    }

    @Test func filesUrlsAndMemory() throws {
        try withTemporaryFile { path in
            let opened = try E.opened(path, folder(of: path))
            #expect(opened[0].tables.map(\.name) == ["Member"] && opened[1].tables.isEmpty)
            #expect(opened[1].path.hasSuffix("/archive.mako") && opened[2].path == ":memory:")
            // The first use makes a table.
            #expect(try opened[1].query(E.Member.self).count() == 0)
            #expect(opened[1].tables.map(\.name) == ["Member"])
            let names = { try FileManager.default.contentsOfDirectory(atPath: folder(of: path).path).sorted() }
            #expect(try names().contains { $0.hasPrefix("test.mako-wal") })
            for db in opened { try db.close() }
            // A clean close leaves the files alone.
            #expect(try names() == ["archive.mako", "test.mako"])
        }
    }

    @Test func aDatabaseThatIsShippedIsOnlyRead() throws {
        try withTemporaryFile { path in
            try fill(path, 50)
            let db = try Database(at: path)
            try E.shipped(db, path + "-shipped")
            try E.lowered(db)
            try db.close()
            let before = try Data(contentsOf: URL(fileURLWithPath: path + "-shipped"))
            let (bundled, count) = try E.bundled(path + "-shipped")
            #expect(count == 50)
            #expect(throws: MakoError.readOnly(reason: "\(path)-shipped was opened for reading only")) {
                try bundled.save(E.Member(name: "Ada"))
            }
            // Nothing is migrated: a type that the file does not know is refused.
            #expect(throws: MakoError.self) { try bundled.query(E.Dinghy.self).count() }
            #expect(try bundled.query(E.Member.self).count() == 50)
            try bundled.close()
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-shipped")) == before)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder(of: path).path).count == 2)
            #expect(throws: MakoError.self) { try E.bundled(path + "-nowhere") }
        }
    }

    @Test func severalDatabases() throws {
        try withTemporaryFile { path in
            let archive = try Database.inMemory(entities: [E.Member.self])
            let ada = E.Member(name: "Ada")
            try archive.save([E.Member(name: "Bob"), ada])
            #expect(try E.named(archive) == ["Ada", "Bob"])
            defer { Database.register(nil, as: "club") }
            let first = try E.switched("ada", folder(of: path), nil)
            let boat = E.Dinghy(name: "Wren")
            try boat.commit()
            let second = try E.switched("bob", folder(of: path), first)
            #expect(try E.Dinghy.query().count() == 0)
            // An object stays with its database.
            boat.name = "Tern"
            #expect(throws: MakoError.self) { try boat.commit() }
            #expect(throws: MakoError.foreignObject(entity: "Member")) { try second.save(ada) }
            #expect(throws: MakoError.foreignObject(entity: "Member")) { try second.save(E.Member(sponsor: ada)) }
            let again = try E.switched("ada", folder(of: path), second)
            #expect(try E.Dinghy.query().fetch().map(\.name) == ["Wren"])
            try again.close()
        }
    }

    @Test func aFileIsOpenOnce() throws {
        try withTemporaryFile { path in
            #expect(try E.shared(path))
            let db = try Database(at: path)
            #expect(throws: MakoError.alreadyOpen(path: path)) {
                try Database(at: path, options: DatabaseOptions(durability: .ordered))
            }
            #expect(try E.suspended(db) && !db.isSuspended)
            let (reader, before, after) = try E.followed(path, db)
            #expect(before == 1 && after == 2)
            try E.soft(db)
            #expect(try db.query(E.Member.self).count() == 4)
            try reader.store.refresh()
            #expect(try reader.query(E.Member.self).count() == 4)
            try reader.close()
            try db.close()
            #expect(throws: MakoError.closed(path: path)) { try db.query(E.Member.self).count() }
            try db.close()
        }
    }

    @Test func aFileIsUsedByTurns() throws {
        let (first, second) = try withTemporaryFile { path in (try E.byTurns(path), try E.byTurns(path)) }
        #expect(first == ["Eve", "Flo"] && second == ["Eve", "Eve", "Flo", "Flo"])
    }

    /// What the article describes of a reader while another process changes the tables of the file.
    @Test func aReaderGoesByTheTablesOfWhatItShows() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [E.Member.self])
            let reader = try Database(at: path, entities: [E.Member.self], options: DatabaseOptions(readOnly: true))
            try db.save(E.Dinghy(name: "Wren"))
            #expect(throws: MakoError.self) { try reader.query(E.Dinghy.self).count() }
            #expect(try reader.refresh())
            #expect(try reader.query(E.Dinghy.self).count() == 1)
            try db.drop(E.Dinghy.self)
            try reader.refresh()
            #expect(throws: MakoError.self) { try reader.query(E.Dinghy.self).count() }
            try reader.close()
            try db.close()
        }
    }

    @Test func careIsTaken() throws {
        try withTemporaryFile { path in
            try fill(path, 5000)
            let db = try Database(at: path, entities: [E.Member.self])
            let before = db.store.stats.filePages
            _ = try db.query(E.Member.self).where(\.number >= 10).delete()
            let lines = try E.lookedAfter(db)
            #expect(lines.count == 2 && lines[0].hasSuffix("pages in use, writable") && lines[1].hasSuffix(" 0 0"))
            #expect(db.store.stats.filePages < before)
            try db.close()
        }
    }

    @Test func backupsWholeAndInParts() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [E.Member.self])
            try db.save(E.Member(name: "Sunday"))
            let left = try E.backedUp(db, path + "-sunday", path + "-monday", path + "-restored")
            #expect(left.last == 0)
            try db.close()
            let restored = try Database(at: path + "-restored", entities: [E.Member.self])
            #expect(try restored.query(E.Member.self).fetch().map(\.name) == ["Sunday", "Monday"])
            try restored.close()
        }
    }

    @Test func aWriterThatWaitsTooLongThrows() throws {
        let options = DatabaseOptions(writerTimeout: .milliseconds(20))
        let db = try Database.inMemory(entities: [E.Member.self], options: options)
        let notified = Collected<MakoError>()
        try db.transaction { _ in
            let other = ThreadRun {
                do throws(MakoError) { try db.save(E.Member(name: "Ada")) } catch { notified.append(error) }
            }
            other.wait()
        }
        #expect(notified.all == [.writerTimeout(seconds: 0.02)])
    }

    @Test func whatCanBeReadIsSaved() throws {
        try withTemporaryFile { path in
            try fill(path, 2000)
            let whole = try E.salvaged(path, path + "-whole")
            #expect(whole.0 && whole.1.isEmpty)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let place = try #require(bytes.range(of: Data("member 777".utf8))?.lowerBound)
            bytes[place] ^= 1
            try bytes.write(to: URL(fileURLWithPath: path))
            let (isComplete, lines) = try E.salvaged(path, path + "-saved")
            #expect(!isComplete && lines.count == 2)
            #expect(lines.first?.hasPrefix("Member ") == true && lines.first?.hasSuffix(" lost") == true)
            let saved = try Database(at: path + "-saved", entities: [E.Member.self])
            let count = try saved.query(E.Member.self).count()
            #expect(count < 2000 && count > 1000)
            #expect(try saved.verify().isClean)
            try saved.close()
        }
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func keysOpenAndChange() throws {
        try withTemporaryFile { path in
            let (old, new) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
            let db = try E.encrypted(path, old, new)
            #expect(db.isEncrypted)
            try db.save(E.Member(name: "Ada"))
            // Keys cannot be compared: the database is not shared.
            #expect(throws: MakoError.alreadyOpen(path: path)) {
                try Database(at: path, options: DatabaseOptions(encryption: .key(new)))
            }
            try db.close()
            #expect(throws: MakoError.self) { try Database(at: path) }
            #expect(throws: MakoError.self) {
                try Database(at: path, options: DatabaseOptions(encryption: .key(old)))
            }
            try E.plain(path, new)
            let plain = try Database(at: path)
            #expect(try plain.query(E.Member.self).fetch().map(\.name) == ["Ada"])
            try plain.close()
        }
    }

    /// Adds a member whose sponsor, the first one, has a rank that the type does not know.
    private func breakFirstMember(of db: Database) throws {
        try db.save(E.Member(name: "Cem", sponsor: db.find(E.Member.self, 1)))
        let members = try Catalogue.load(view: db.store.snapshot()).requireTable("Member")
        try db.store.write { tx in
            var row = RowWriter()
            var changes = ChangeSet()
            row.begin(try members.layout(for: ["rank"]))
            row.set(0, "cook")
            _ = try members.update(&row, key: .rowID(1), in: tx, changes: &changes)
        }
    }

    @Test func whatGoesWrongIsSaid() async throws {
        let db = try Database.inMemory(entities: [E.Member.self])
        #expect(E.outcome(of: E.Member(name: "Ada", number: 1), in: db) == "saved")
        #expect(E.outcome(of: E.Member(name: "Bob", number: 1), in: db) == "taken: number")
        try breakFirstMember(of: db)
        let notified = Collected<MakoError>()
        let listener = E.listened(db) { notified.append($0) }
        let cem = try #require(try await db.query(E.Member.self).where(\.name == "Cem").first())
        #expect(cem.sponsor == nil && cem.loadError != nil)
        await #expect(throws: MakoError.self) { try await cem.load(\.sponsor) }
        while notified.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        #expect(notified.all.first == cem.loadError)
        try await db.close()
        await listener.value
        #expect(E.outcome(of: E.Member(name: "Dee"), in: db) == "not now")
    }
}
