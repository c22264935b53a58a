import MakoStorage
import Testing

/// Spans hold the same bytes as arrays, as arguments and as borrowed values.
@Suite struct SpanTests {
    @Test func valuesAreBorrowedAndTakenAsSpans() throws {
        let store = try Store.inMemory()
        let (numbers, words) = try store.write {
            (try $0.createTree(named: "n", keys: .integer), try $0.createTree(named: "w", keys: .bytes))
        }
        let value: [UInt8] = Array(1...200)
        let long = [UInt8](repeating: 7, count: 30_000)
        let key: [UInt8] = Array("key".utf8)
        try store.write { tx in
            try tx.put(value.span.bytes, for: 1, in: numbers)
            try tx.put(long.span.bytes, for: 2, in: numbers)
            try tx.put(value.span.bytes, for: key.span.bytes, in: words)
        }
        try store.read { snapshot in
            try #expect(snapshot.get(1, in: numbers) == value)
            try #expect(snapshot.get(key, in: words) == value)
            try #expect(snapshot.withSpan(of: 1, in: numbers) { $0.byteCount } == 200)
            try #expect(
                snapshot.withSpan(of: 1, in: numbers) { $0.unsafeLoad(fromByteOffset: 9, as: UInt8.self) } == 10)
            try #expect(snapshot.withSpan(of: 2, in: numbers) { $0.byteCount } == 30_000)
            try #expect(snapshot.withSpan(of: key, in: words) { $0.byteCount } == 200)
            try #expect(snapshot.withSpan(of: 3, in: numbers) { $0.byteCount } == nil)
            var cursor = try snapshot.cursor(in: words)
            try #expect(cursor.first())
            try #expect(cursor.withSpan { $0.byteCount } == 200)
        }
    }
}
