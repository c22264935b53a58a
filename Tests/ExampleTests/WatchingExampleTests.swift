import Dispatch
import Foundation
import Mako
import Observation
import TestHelpers
import Testing

#if canImport(SwiftUI)
    import MakoUI
    import SwiftUI
#endif

/// The examples of the article `Watching.md`.
enum WatchingExample {
    // EXAMPLE Watching.md
    @Entity(observable: true) final class Channel {
        var name = ""
        var topic = ""
    }

    @Entity final class Message {
        var text = ""
        var stars = 0
        var channel: Channel?
    }
    // EXAMPLE ends

    static func handled(_ db: Database, _ print: @escaping @Sendable (String) -> Void) throws -> [ChangeToken] {
        // EXAMPLE Watching.md
        let token = try Message.onChange(.insert, .update, in: db) { change in
            print("\(change.kind) \(change.object?.text ?? "") \(change.changedProperties)")
        }
        let gone = db.onDelete { change in
            print("\(change.entity) \(change.key?.description ?? "") is gone")
        }
        // EXAMPLE ends
        return [token, gone]
    }

    static func followed(_ channel: Channel, _ show: @escaping @Sendable (String) -> Void) throws -> ChangeToken {
        // EXAMPLE Watching.md
        let token = try channel.onChange(refreshing: true) { [weak channel] _ in
            show(channel?.topic ?? "")  // has the committed values already
        }
        // EXAMPLE ends
        return token
    }

    // EXAMPLE Watching.md
    @MainActor final class MessageList {
        private(set) var texts: [String] = []
        private var token: ChangeToken?

        func follow(_ db: Database) throws {
            token = try Message.onChange(.insert, in: db, on: MainActor.shared) { [weak self] change in
                if let message = change.object { self?.texts.append(message.text) }
            }
        }
    }
    // EXAMPLE ends

    static func listened(_ db: Database, _ index: Index) throws -> Task<Void, Never> {
        // EXAMPLE Watching.md
        let changes = try Message.changes(in: db)  // from here on nothing is lost
        let listener = Task {
            for await change in changes {
                switch change.kind {
                case .insert, .update: if let message = change.object { await index.put(message) }
                case .delete: if let key = change.key { await index.remove(key) }
                case .missed: await index.rebuild()
                }
            }
        }
        // EXAMPLE ends
        return listener
    }

    actor Index {
        private let done: @Sendable (String) -> Void
        init(_ done: @escaping @Sendable (String) -> Void) { self.done = done }
        func put(_ message: Message) { done("put \(message.text)") }
        func remove(_ key: RowKey) { done("remove") }
        func rebuild() { done("rebuild") }
    }

    static func observed(_ db: Database, _ show: @Sendable ([String]) -> Void) async throws {
        // EXAMPLE Watching.md
        var rows: [String] = []
        for try await difference in db.query(Message.self).where(\.stars > 0).orderBy(\.stars).observe() {
            let new = difference.results
            for place in (difference.deletions + difference.moves.map(\.from)).sorted().reversed() {
                rows.remove(at: place)
            }
            for place in (difference.insertions + difference.moves.map(\.to)).sorted() {
                rows.insert(new[place].text, at: place)
            }
            for place in difference.updates { rows[place] = new[place].text }
            show(rows)
            if rows.isEmpty && !difference.isInitial { break }
        }
        // EXAMPLE ends
    }

    static func drawn(_ channel: Channel, _ draw: (String) -> Void, _ renew: @escaping @Sendable () -> Void) {
        // EXAMPLE Watching.md
        withObservationTracking {
            draw(channel.topic)
        } onChange: {
            renew()
        }
        // EXAMPLE ends
    }

    static func shared(_ db: Database) throws -> (ObjectDomain, [Channel], Channel) {
        // EXAMPLE Watching.md
        let screen = ObjectDomain(db)
        let channels = try db.query(Channel.self).orderBy(\.name).domain(screen).fetch()
        let edited = try db.find(Channel.self, 1) ?? Channel()
        edited.topic = "tides"
        try db.save(edited)  // channels[0] has the topic, too
        // EXAMPLE ends
        return (screen, channels.array, edited)
    }

    #if canImport(SwiftUI)
        // EXAMPLE Watching.md
        struct StarredMessages: View {
            @LiveQuery(Message.query().where(\.stars > 0).orderBy(\.stars))
            private var messages: [Message]

            var body: some View {
                List(messages) { Text($0.text) }
                    .overlay { if let error = $messages.error { Text(error.description) } }
            }
        }

        struct MessageView: View {
            @LiveObject private var message: Message?

            init(_ id: EntityID<Message>) { _message = LiveObject(id) }

            var body: some View {
                if let message { Text(message.text) } else if $message.isLoaded { Text("Deleted") }
            }
        }
        // EXAMPLE ends

        @MainActor static func shown(_ db: Database) -> some View {
            StarredMessages().database(db)
        }
    #endif

    static func followed(
        _ reader: Database, _ show: @escaping @Sendable (ChangeKind, String) -> Void,
        _ rebuild: @escaping @Sendable () -> Void,
        _ list: ([String]) -> Void
    ) async throws -> ChangeToken {
        // EXAMPLE Watching.md
        let token = try Message.onChange(in: reader) { change in
            if change.kind == .missed { rebuild() } else { show(change.kind, change.object?.text ?? "") }
        }
        for try await difference in reader.query(Message.self).where(\.stars > 0).observe() {
            list(difference.results.map(\.text))  // at first, and after each refresh that changes them
            if difference.results.isEmpty { break }
        }
        // EXAMPLE ends
        return token
    }

    static func looked(_ reader: Database, while isOpen: () -> Bool) async throws {
        // EXAMPLE Watching.md
        while isOpen() {
            try await reader.refresh()
            try await Task.sleep(for: .milliseconds(100))
        }
        // EXAMPLE ends
    }

    static func begun(_ path: String) throws -> (Database, HistoryToken, Int) {
        // EXAMPLE Watching.md
        var options = DatabaseOptions()
        options.history = .kept(maximumTransactions: 100_000, maximumAge: .seconds(30 * 86_400))
        let db = try Database(at: path, entities: [Message.self], options: options)
        let (token, count) = try db.read {  // of one moment
            (try db.historyToken(), try db.query(Message.self).count())
        }
        // EXAMPLE ends
        return (db, token, count)
    }

    /// Data outside the database.
    final class Copy {
        var texts: [Int64: String] = [:]
        var token: HistoryToken? { didSet { notified += 1 } }
        var rebuilds = 0
        private var notified = 0
        var isDone: Bool { notified == 3 }
        func put(_ message: Message, for change: HistoryChange) { texts[change.key.rowID ?? 0] = message.text }
        func remove(_ change: HistoryChange) { texts[change.key.rowID ?? 0] = nil }
        func rebuild() { rebuilds += 1 }
    }

    static func copied(_ db: Database, _ token: HistoryToken, to copy: Copy) async throws {
        // EXAMPLE Watching.md
        for try await event in db.changes(of: Message.self, since: token) {
            switch event {
            case .batch(let batch):
                for change in batch.changes {
                    if let message = try db.object(of: change, as: Message.self) {
                        copy.put(message, for: change)
                    } else {
                        copy.remove(change)  // it is gone by now
                    }
                }
                if !batch.rewritten.isEmpty { copy.rebuild() }
            case .missed:
                copy.rebuild()
            }
            copy.token = event.token  // to be stored with what was made of it
            if copy.isDone { break }
        }
        // EXAMPLE ends
    }

    static func trimmed(_ db: Database, _ token: HistoryToken) throws -> Int {
        // EXAMPLE Watching.md
        let stored = token.description  // a text of 65 to 80 characters; it is Codable, too
        guard let known = HistoryToken(stored) else { throw MakoError.invalidArgument("no token") }
        let events = try db.history(since: known, limit: 100)  // what is stored now, without waiting
        try db.forgetHistory(before: events.last?.token ?? known)
        // EXAMPLE ends
        return events.count
    }
}

@Suite struct WatchingExampleTests {
    private typealias E = WatchingExample

    private func database() throws -> Database { try Database.inMemory(entities: [E.Channel.self, E.Message.self]) }

    @Test func handlersAreCalledUntilTheirTokensEnd() throws {
        let db = try database()
        let lines = Collected<String>()
        var tokens = try E.handled(db) { lines.append($0) }
        let message = E.Message(text: "hello")
        try db.transaction { _ in
            try db.save(message)
            message.text = "hello all"
            try db.save(message)
            #expect(lines.all.isEmpty)
        }
        message.stars = 2
        try db.save(message)
        try db.update(E.Message.self).set(\.stars, to: 3).run()
        try db.delete(message)
        #expect(
            lines.all.map { $0.replacing("[\"text\", \"stars\", \"channel\"]", with: "all") } == [
                "insert hello all all", "update hello all [\"stars\"]", "update hello all [\"stars\"]",
                "Message 1 is gone",
            ])
        tokens.removeFirst()
        tokens[0].cancel()
        try db.save(E.Message(text: "bye"))
        #expect(lines.all.count == 4)
    }

    @Test func aHandlerMayWrite() throws {
        let db = try database()
        let lines = Collected<String>()
        let token = try E.Message.onChange(in: db) { change in
            lines.append("\(change.kind) \(change.object?.text ?? "")")
            if change.kind == .insert, let message = change.object {
                message.text += "!"
                _ = try? db.save(message)
                lines.append("saved")
            }
        }
        try db.save(E.Message(text: "hello"))
        // The change that the handler wrote is delivered after it has returned.
        #expect(lines.all == ["insert hello", "saved", "update hello!"])
        token.cancel()
    }

    @Test func anObjectKeepsItselfFresh() throws {
        let db = try database()
        let channel = E.Channel(name: "north")
        try db.save(channel)
        let lines = Collected<String>()
        let token = try E.followed(channel) { lines.append($0) }
        let other = try #require(try db.find(E.Channel.self, 1))
        other.topic = "weather"
        try db.save(other)
        #expect(lines.all == ["weather"] && channel.topic == "weather")
        token.cancel()
    }

    @MainActor @Test func handlersOfTheMainActor() async throws {
        let db = try database()
        let list = E.MessageList()
        try list.follow(db)
        for text in ["a", "b"] { try await db.save(E.Message(text: text)) }
        while list.texts.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(list.texts == ["a", "b"])
    }

    @Test func sequencesDeliverEachChange() async throws {
        let db = try database()
        let lines = Collected<String>()
        let listener = try E.listened(db, E.Index { lines.append($0) })
        let message = E.Message(text: "hello")
        try await db.save(message)
        while lines.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        try await db.delete(message)
        while lines.all.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        try await db.close()
        await listener.value
        #expect(lines.all == ["put hello", "remove"])
    }

    @Test func differencesMakeTheNewRows() async throws {
        let db = try database()
        try await db.save([E.Message(text: "a", stars: 1), E.Message(text: "b", stars: 2), E.Message(text: "c")])
        let seen = Collected<[String]>()
        let listener = Task { try await E.observed(db) { seen.append($0) } }
        func wait(_ count: Int) async throws {
            while seen.all.count < count { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await wait(1)
        try await db.transaction { _ in
            let messages = try db.query(E.Message.self).orderBy("id").fetch()
            messages[0].stars = 9
            messages[0].text = "A"
            messages[2].stars = 5
            try db.save(messages.array)
        }
        try await wait(2)
        try await db.transaction { _ in
            try db.query(E.Message.self).where(\.text == "b").delete()
            try db.save(E.Message(text: "d", stars: 3))
        }
        try await wait(3)
        _ = try await db.update(E.Message.self).set(\.stars, to: 0).run()
        try await listener.value
        #expect(seen.all == [["a", "b"], ["b", "c", "A"], ["d", "c", "A"], []])
    }

    @Test func aReaderIsNotifiedOfCommitsOfAnotherProcess() async throws {
        try await withTemporaryFile { path in
            let db = try Database(at: path, entities: [E.Channel.self, E.Message.self])
            let message = E.Message(text: "hello")
            message.stars = 1
            try await db.save(message)
            let reader = try Database(at: path, entities: [E.Message.self], options: DatabaseOptions(readOnly: true))
            let lines = Collected<String>()
            let isDone = Collected<Bool>()
            let looking = Task { try await E.looked(reader) { isDone.all.isEmpty } }
            let token = try await E.followed(
                reader, { lines.append("\($0) \($1)") }, { lines.append("rebuilt") },
                { texts in
                    lines.append("\(texts)")
                    message.stars = 0
                    if !texts.isEmpty { _ = try? db.save(message) }
                })
            // Different threads notify the handler and the query.
            for _ in 0..<200 where lines.all.count < 3 { try await Task.sleep(for: .milliseconds(50)) }
            isDone.append(true)
            try await looking.value
            withExtendedLifetime(token) {}
            #expect(lines.all.sorted() == ["[\"hello\"]", "[]", "update hello"])
            try await reader.close()
            try await db.close()
        }
    }

    @Test func whatIsDrawnIsFollowed() throws {
        let db = try database()
        try db.save([E.Channel(name: "north"), E.Channel(name: "south")])
        let (screen, channels, edited) = try E.shared(db)
        #expect(channels[0].topic == "tides" && channels[0] !== edited)
        let notified = Collected<String>()
        E.drawn(channels[0], { notified.append($0) }, { notified.append("renew") })
        edited.topic = "ice"
        #expect(notified.all == ["tides"])
        try db.save(edited)
        #expect(notified.all == ["tides", "renew"] && channels[0].topic == "ice")
        withExtendedLifetime(screen) {}
    }

    @Test func theHistoryIsGoneOnFrom() async throws {
        try await withTemporaryFile { path in
            let (first, token, count) = try E.begun(path)
            #expect(count == 0)
            let message = E.Message(text: "a")
            try await first.save([message, E.Message(text: "b")])
            message.text = "A"
            try await first.save(message)
            try await first.close()

            // Without the option the file continues with its former history setting.
            let db = try await Database.open(at: path, entities: [E.Message.self])
            let copy = E.Copy()
            let writer = Task {
                try await Task.sleep(for: .milliseconds(5))
                _ = try await db.query(E.Message.self).where(\.text == "A").delete()
            }
            try await E.copied(db, token, to: copy)
            try await writer.value
            #expect(copy.texts == [2: "b"] && copy.rebuilds == 0)
            #expect(try await copy.token == db.historyToken())
            #expect(try E.trimmed(db, token) == 3)
            // A token older than the history gets an event without a batch.
            let late = try await db.history(since: token)
            #expect(late.count == 1 && late[0].batch == nil)
            try await db.close()
        }
    }
}
