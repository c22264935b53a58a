/// Where the rows of a result go: all into one array, or some at a time to whoever takes them.
final class RowBatches {
    /// Behind the last batch that was given on.
    @exclusivity(unchecked) private(set) var rows: [[Value]] = []
    private let mostRows: Int
    private let mostBytes: Int
    private let take: ([[Value]]) throws(RecordError) -> Bool
    @exclusivity(unchecked) private var bytes = 0
    @exclusivity(unchecked) private var isWanted = true

    /// Gathers all rows.
    init() {
        (mostRows, mostBytes) = (.max, .max)
        take = { (_) throws(RecordError) in true }
    }

    /// - Parameters:
    ///   - rows: how many rows a batch has at most.
    ///   - bytes: how many bytes their texts and blobs take together, give or take one row.
    ///   - take: gets each batch; false: no more rows are wanted.
    init(rows: Int, bytes: Int, _ take: @escaping ([[Value]]) throws(RecordError) -> Bool) {
        (mostRows, mostBytes) = (rows, bytes)
        self.take = take
    }

    /// False: no more rows are wanted.
    @inline(__always)
    func append(_ row: [Value]) throws(RecordError) -> Bool {
        rows.append(row)
        return mostRows == .max ? true : try giveIfFull(row)
    }

    private func giveIfFull(_ row: [Value]) throws(RecordError) -> Bool {
        for value in row { bytes += value.contentBytes }
        return rows.count < mostRows && bytes < mostBytes ? isWanted : try flush()
    }

    /// Gives on what is left, where all are not gathered.
    @discardableResult
    func flush() throws(RecordError) -> Bool {
        if mostRows == .max || rows.isEmpty || !isWanted { return isWanted }
        let batch = rows
        (rows, bytes) = ([], 0)
        isWanted = try take(batch)
        return isWanted
    }
}

extension RowBatches {
    /// Lends rows one by one that a run gives on some hundred at a time. False: no more are wanted.
    static func lend(
        to body: ([Value]) throws(RecordError) -> Bool, _ run: (RowBatches) throws(RecordError) -> Void
    ) throws(RecordError) -> Bool {
        let result: Result<Bool, RecordError> = withoutActuallyEscaping(body) { body in
            let batches = RowBatches(rows: 256, bytes: 64 << 10) { (rows) throws(RecordError) in
                for row in rows { guard try body(row) else { return false } }
                return true
            }
            do throws(RecordError) {
                try run(batches)
                return .success(try batches.flush())
            } catch { return .failure(error) }
        }
        return try result.get()
    }
}

extension Value {
    /// The bytes of a text or blob.
    fileprivate var contentBytes: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .blob(let bytes): bytes.count
        default: 0
        }
    }
}
