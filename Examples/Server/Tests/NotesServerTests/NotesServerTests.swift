import Foundation
import Hummingbird
import HummingbirdTesting
import Mako
import Testing

@testable import NotesServer

/// The server, by requests over HTTP.
@Suite struct NotesServerTests {
    private func withServer(_ body: @Sendable @escaping (any TestClientProtocol) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("notes.mako").path
        try await notesApplication(openNotes(at: path), port: 0).test(.live, body)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.mako"])  // closed: no log
        let db = try openNotes(at: path)
        #expect(try await db.verify().isClean)
        try await db.close()
    }

    private static func post(_ client: any TestClientProtocol, _ title: String, _ text: String) async throws -> (
        HTTPResponse.Status, NoteBody?
    ) {
        let body = ByteBuffer(data: try JSONEncoder().encode(["title": title, "text": text]))
        return try await client.execute(uri: "/notes", method: .post, body: body) { response in
            (response.status, try? JSONDecoder().decode(NoteBody.self, from: response.body))
        }
    }

    private static func get(_ client: any TestClientProtocol, _ uri: String) async throws -> (
        HTTPResponse.Status, [NoteBody]
    ) {
        try await client.execute(uri: uri, method: .get) { response in
            let list = try? JSONDecoder().decode([NoteBody].self, from: response.body)
            let one = try? JSONDecoder().decode(NoteBody.self, from: response.body)
            return (response.status, list ?? one.map { [$0] } ?? [])
        }
    }

    @Test func notesAreStoredFoundAndRemoved() async throws {
        try await withServer { client in
            let (created, note) = try await Self.post(client, "Tides", "They come and go.")
            #expect(created == .created && note?.title == "Tides")
            #expect(try await Self.post(client, "Tides", "Again").0 == .conflict)
            #expect(try await Self.get(client, "/notes").1.map(\.title) == ["Tides"])
            let id = try #require(note?.id)
            #expect(try await Self.get(client, "/notes/\(id)").1.first?.reads == 1)
            #expect(try await client.execute(uri: "/notes/\(id)", method: .delete) { $0.status } == .noContent)
            #expect(try await Self.get(client, "/notes/\(id)").0 == .notFound)
            #expect(try await Self.get(client, "/notes/7").0 == .badRequest)
        }
    }

    @Test func anySearchTextIsAnswered() async throws {
        try await withServer { client in
            _ = try await Self.post(client, "Tides", "They come and go.")
            for (search, count) in [("go", 1), ("%22go", 1), ("AND", 1), ("(sea", 0), ("*", 0), ("", 0)] {
                let (status, notes) = try await Self.get(client, "/notes?search=\(search)")
                #expect(status == .ok && notes.count == count, "\(search)")
            }
        }
    }

    @Test func concurrentReadsAreAllCounted() async throws {
        try await withServer { client in
            let id = try #require(try await Self.post(client, "Tides", "").1?.id)
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
                for _ in 0..<50 { group.addTask { try await Self.get(client, "/notes/\(id)").0 } }
                for try await status in group { #expect(status == .ok) }
            }
            #expect(try await Self.get(client, "/notes/\(id)").1.first?.reads == 51)
        }
    }
}
