import MakoCore
import MakoTestSupport
import Testing

/// Long lists behind IN, beside what Swift's own `contains` answers.
@Suite struct LongListTests {
    private func database(_ rows: Int, _ random: inout SplitMix) throws -> Database {
        let db = try Database.inMemory()
        try db.rawQuery("CREATE TABLE t (i INTEGER, d REAL, s TEXT, n TEXT COLLATE NOCASE, k INTEGER)")
        try db.rawQuery("CREATE INDEX t_k ON t (k)")
        let insert = try db.prepare("INSERT INTO t (i, d, s, n, k) VALUES (?, ?, ?, ?, ?)")
        try db.transaction { _ in
            for _ in 0..<rows {
                let number = Int(random.next() % 200) - 100
                if number % 7 == 0 {
                    try insert.run(nil, Double(number) / 2, "w\(number)", "W\(number)", number)
                } else {
                    try insert.run(number, Double(number) / 2, "w\(number)", "W\(number)", number)
                }
            }
        }
        return db
    }

    @Test(arguments: [2, 8, 9, 100, 3000]) func listsFindWhatTheyName(count: Int) throws {
        var random = SplitMix(seed: UInt64(count))
        let db = try database(500, &random)
        let numbers = (0..<count).map { _ in Int(random.next() % 400) - 200 }
        let wanted = Set(numbers)
        let all = try db.rawQuery("SELECT i, d, s, n, k FROM t ORDER BY rowid").rows
        func found(_ column: String, _ list: any ConditionValue) throws -> [[StoredValue]] {
            try db.rawQuery(text: "SELECT i, d, s, n, k FROM t WHERE \(column) IN (?) ORDER BY rowid", list).rows
        }
        let integers = all.filter { if case .integer(let i) = $0[0] { wanted.contains(Int(i)) } else { false } }
        #expect(try found("i", numbers) == integers)
        #expect(try found("i", numbers.sorted()) == integers)
        #expect(try found("i", numbers.map { Optional($0) } + [nil]) == integers)
        #expect(try found("i", numbers.map { Double($0) } + [0.5]) == integers)
        let keys = all.filter { if case .integer(let k) = $0[4] { wanted.contains(Int(k)) } else { false } }
        #expect(try found("k", numbers) == keys)
        let halves = all.filter { if case .double(let d) = $0[1] { wanted.contains(Int(d * 2)) } else { false } }
        #expect(try found("d", numbers.map { Double($0) / 2 }) == halves)
        let texts = all.filter {
            if case .text(let s) = $0[2] { wanted.contains(Int(s.dropFirst()) ?? 0) } else { false }
        }
        #expect(try found("s", numbers.map { "w\($0)" }) == texts)
        #expect(try found("s", numbers.map { "W\($0)" }).isEmpty)
        #expect(try found("n", numbers.map { "w\($0)" }) == texts)
        // With NULL in the list nothing is known to be outside of it.
        let none = try db.rawQuery("SELECT count(*) FROM t WHERE i NOT IN (?)", numbers.map { Optional($0) } + [nil])
        #expect(none.rows == [[.integer(0)]])
        let outside = try db.rawQuery("SELECT count(*) FROM t WHERE i NOT IN (?)", numbers).rows
        let others = all.filter { if case .integer(let i) = $0[0] { !wanted.contains(Int(i)) } else { false } }
        #expect(outside == [[.integer(Int64(others.count))]])
    }
}
