import MakoStorage

/// The output of a query: all rows in one array, or batches for a consumer.
///
/// A batch is passed on only while no read borrows bytes, because the consumer may be slow and pages must not stay pinned
/// meanwhile. Inside a read a full batch waits in memory, or in a file.
final class RowBatches {
    /// The rows, if all are collected.
    @exclusivity(unchecked) private(set) var rows: [[Value]] = []
    /// The rows after the last batch that was passed on.
    @exclusivity(unchecked) private var batch: RowBatch
    private let mostRows: Int
    private let mostBytes: Int
    private let view: Snapshot?
    private let cancellation: Cancellation?
    private let take: (RowBatch) throws(RecordError) -> Bool
    @exclusivity(unchecked) private var bytes = 0
    @exclusivity(unchecked) private var isWanted = true
    /// Full batches that wait, by the numbers of their rows.
    @exclusivity(unchecked) private var waiting: SpilledEntries?
    @exclusivity(unchecked) private var number: UInt64 = 0

    /// Collects all rows.
    init() {
        (mostRows, mostBytes, view, cancellation) = (.max, .max, nil, nil)
        batch = RowBatch(width: 0)
        take = { (_) throws(RecordError) in true }
    }

    /// - Parameters:
    ///   - width: the number of values of a row.
    ///   - rows: the largest number of rows of a batch.
    ///   - bytes: the approximate size of the texts and blobs of a batch.
    ///   - view: has the temporary file for waiting rows; `nil` if this thread consumes them at once.
    ///   - take: receives each batch; returns `false` if no more rows are wanted.
    init(
        width: Int, rows: Int, bytes: Int, _ view: Snapshot?, _ cancellation: Cancellation?,
        _ take: @escaping (RowBatch) throws(RecordError) -> Bool
    ) {
        batch = RowBatch(width: width)
        (mostRows, mostBytes, self.view, self.cancellation) = (rows, bytes, view, cancellation)
        self.take = take
    }

    /// Whether rows are passed on in batches.
    var isHandedOver: Bool { mostRows != .max }

    /// Adds a row. Returns `false` if no more are wanted.
    func append(_ row: [Value]) throws(RecordError) -> Bool {
        if !isHandedOver {
            rows.append(row)
            return true
        }
        batch.append(row)
        countContent()
        return try giveIfFull()
    }

    /// Adds the values of some expressions over a row. Returns `false` if no more rows are wanted.
    @inline(__always)
    func append(_ outputs: ExpressionExecutor, _ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool {
        if !isHandedOver { return try append(outputs.all(row, key)) }
        try outputs.append(row, key, to: &batch.values)
        batch.count &+= 1
        if !outputs.areFixedWidth { countContent() }
        return try giveIfFull()
    }

    /// Counts the texts and blobs of the last row.
    private func countContent() { for value in batch[batch.count - 1] { bytes += value.contentBytes } }

    private func giveIfFull() throws(RecordError) -> Bool {
        assert(batch.values.count == batch.count * batch.width)
        if batch.count < mostRows && bytes < mostBytes { return isWanted }
        // Most reads end soon, so that the batch may grow to twice its size before it is spilled.
        if let view, Snapshot.isBorrowing {
            return batch.count < 2 * mostRows && bytes < 2 * mostBytes ? isWanted : try wait(view)
        }
        return try flush()
    }

    private func wait(_ view: Snapshot) throws(RecordError) -> Bool {
        let entries = waiting ?? SpilledEntries(memory: view.queryMemory / 4)
        entries.cancellation = cancellation
        waiting = entries
        for row in batch {
            let start = entries.content.count
            entries.content.append(bigEndian: number)
            number += 1
            let middle = entries.content.count
            for value in row { entries.content.append(coded: value) }
            try entries.end(start, middle, view)
        }
        batch.removeAll()
        bytes = 0
        return isWanted
    }

    /// Passes on the remaining rows, unless all are collected. Must not be called while a read borrows bytes.
    @discardableResult
    func flush() throws(RecordError) -> Bool {
        if !isHandedOver || !isWanted { return isWanted }
        if let entries = waiting {
            let last = batch
            (batch, bytes, waiting) = (RowBatch(width: last.width), 0, nil)
            try entries.forEachUntil { (_, row) throws(RecordError) in
                var reader = OperandReader(row)
                let values = reader.values(last.width)
                batch.append(values)
                for value in values { bytes += value.contentBytes }
                return batch.count < mostRows && bytes < mostBytes ? true : try give()
            }
            for row in last where isWanted {
                batch.append(Array(row))
                if batch.count >= mostRows { _ = try give() }
            }
        }
        return try give()
    }

    private func give() throws(RecordError) -> Bool {
        if batch.isEmpty || !isWanted { return isWanted }
        if cancellation?.isCancelled == true { throw .cancelled }
        isWanted = try take(batch)
        batch.removeAll()
        bytes = 0
        return isWanted
    }
}

extension RowBatches {
    /// Runs a query in batches of some hundred rows, and passes its rows to a closure one by one. Returns `false` if no
    /// more are wanted.
    static func deliver(
        width: Int, to body: ([Value]) throws(RecordError) -> Bool, _ run: (RowBatches) throws(RecordError) -> Void
    ) throws(RecordError) -> Bool {
        let result: Result<Bool, RecordError> = withoutActuallyEscaping(body) { body in
            let batches = RowBatches(width: width, rows: 256, bytes: 64 << 10, nil, nil) {
                (batch) throws(RecordError) in
                for row in batch { guard try body(Array(row)) else { return false } }
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
    /// The number of bytes of a text or blob.
    var contentBytes: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .blob(let bytes): bytes.count
        default: 0
        }
    }
}
