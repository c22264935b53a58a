import MakoStorage

/// Evaluates a program for rows. One for each run and thread; not thread-safe.
final class Evaluator {
    private let program: Program
    private let related: [RelatedRowCache]
    @exclusivity(unchecked) private var arena = Arena()
    @exclusivity(unchecked) private var scratch = KeyBuffer()
    private let view: Snapshot?
    /// The rows that each MATCH finds, on demand.
    private var matched: [MatchedRows?]
    // The program's nodes in allocated memory: arrays would be retained for each access.
    private let values: UnsafeMutableBufferPointer<ValueNode>
    private let conditions: UnsafeMutableBufferPointer<ConditionNode>
    private let lists: UnsafeMutableBufferPointer<Int32>
    private let patterns: UnsafeMutableBufferPointer<TextPattern>
    private let searches: UnsafeMutableBufferPointer<RunSearch?>
    /// The rows of a join, and the values of groups.
    private let supply: RowContext?
    private let supplied: UnsafeMutableBufferPointer<RowContext.Place>
    private let results: UnsafeMutableBufferPointer<Operand>
    /// The sub-queries of the program, made on demand.
    private var subqueries: [SubqueryAnswers?]
    /// The correlated parameters, in a sub-query.
    private let outers: CorrelatedParameters?
    /// The element, inside a condition on a collection.
    private var element = Operand.null
    /// The operand of the enclosing CASE.
    private var subject = Operand.null
    private let cancellation: Cancellation?
    private let isDeep: Bool

    init(
        _ program: Program, _ view: Snapshot?, _ supply: RowContext? = nil, outers: CorrelatedParameters? = nil,
        _ cancellation: Cancellation? = nil
    ) {
        self.program = program
        isDeep = program.isDeep
        self.outers = outers
        self.cancellation = cancellation
        subqueries = Array(repeating: nil, count: program.subqueries.count)
        self.supply = supply
        supplied = supply?.rows ?? UnsafeMutableBufferPointer(start: nil, count: 0)
        results = supply?.results ?? UnsafeMutableBufferPointer(start: nil, count: 0)
        self.view = view
        matched = Array(repeating: nil, count: program.matches.count)
        related = view.map { view in program.joins.map { RelatedRowCache($0, view) } } ?? []
        values = Evaluator.copy(program.values)
        conditions = Evaluator.copy(program.conditions)
        lists = Evaluator.copy(program.lists)
        patterns = Evaluator.copy(program.patterns)
        searches = Evaluator.copy(program.searches)
    }

    deinit {
        values.deallocate()
        conditions.deallocate()
        lists.deallocate()
        patterns.deinitialize()
        patterns.deallocate()
        searches.deallocate()
    }

    @inline(__always)
    private func matches(_ pattern: Int32, _ text: UnsafeRawBufferPointer) -> Bool {
        searches[Int(pattern)]?.matches(text) ?? patterns[Int(pattern)].matches(text)
    }

    private static func copy<T>(_ array: [T]) -> UnsafeMutableBufferPointer<T> {
        if array.isEmpty { return UnsafeMutableBufferPointer(start: nil, count: 0) }
        let copy = UnsafeMutableBufferPointer<T>.allocate(capacity: array.count)
        _ = copy.initialize(from: array)
        return copy
    }

    /// Returns whether the program's condition is true for a row; NULL counts as false. The program must have a
    /// condition.
    func test(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool {
        arena.reset()
        if isDeep {
            return try followingTree(true) { () throws(RecordError) in try truth(program.root, row, key) == .yes }
        }
        return try truth(program.root, row, key) == .yes
    }

    /// Returns the value of an expression for a row, valid until the next ``test(_:_:)`` or ``reset()``.
    func operand(_ place: Int32, _ row: RowReader, _ key: RowKey) throws(RecordError) -> Operand {
        if isDeep { return try followingTree(true) { () throws(RecordError) in try value(place, row, key) } }
        return try value(place, row, key)
    }

    func reset() { arena.reset() }

    // MARK: Conditions

    private func truth(_ place: Int32, _ row: RowReader, _ key: RowKey) throws(RecordError) -> Truth {
        switch conditions[Int(place)] {
        case .constant(let truth):
            return truth
        case .integerColumn(let slot, let operation, let number):
            guard let field = row.address(slot) else { return .unknown }
            return Truth(Evaluator.holds(operation, Int64(bitPattern: row.word(field)), number))
        case .doubleColumn(let slot, let operation, let bits):
            guard let field = row.address(slot) else { return .unknown }
            return Truth(Evaluator.holds(operation, KeyOrder.bits(Double(bitPattern: row.word(field))), bits))
        case .textColumn(let slot, let operation, let bytes):
            guard row.address(slot) != nil else { return .unknown }
            let content = row.content(slot)
            if operation == .equal && content.count != bytes.count { return .no }
            return Truth(Evaluator.holds(operation, KeyOrder.compareRaw(content, bytes), 0))
        case .comparison(let operation, let left, let right):
            let first = try value(left, row, key)
            guard let order = first.compare(try value(right, row, key)) else {
                return .unknown
            }
            return Truth(Evaluator.holds(operation, order, 0))
        case .and(let first, let count):
            var result = Truth.yes
            for index in Int(first)..<Int(first &+ count) {
                let part = try truth(lists[index], row, key)
                if part == .no { return .no }
                if part == .unknown { result = .unknown }
            }
            return result
        case .or(let first, let count):
            var result = Truth.no
            for index in Int(first)..<Int(first &+ count) {
                let part = try truth(lists[index], row, key)
                if part == .yes { return .yes }
                if part == .unknown { result = .unknown }
            }
            return result
        case .not(let inner):
            return try truth(inner, row, key).inverse
        case .isNull(let inner):
            return Truth(try value(inner, row, key).isNull)
        case .truth(let inner):
            switch try value(inner, row, key) {
            case .bool(let flag): return Truth(flag)
            case .integer(let number): return Truth(number != 0)
            case .unsigned: return .yes
            default: return .unknown
            }
        case .isIn(let left, let first, let count):
            return try isIn(try value(left, row, key), first, count, row, key)
        case .isInSet(let left, let set):
            return isInSet(try value(left, row, key), Int(set))
        case .like(let inner, let pattern):
            guard case .text(let bytes) = try value(inner, row, key) else { return .unknown }
            return Truth(matches(pattern, bytes))
        case .likeColumn(let slot, let pattern):
            guard row.address(slot) != nil else { return .unknown }
            return Truth(matches(pattern, row.content(slot)))
        case .likeComputed(let inner, let pattern, let escape):
            return try like(inner, pattern, escape, row, key)
        case .globComputed(let inner, let pattern):
            guard case .text(let bytes) = try value(inner, row, key),
                case .text(let pattern) = try value(pattern, row, key)
            else {
                return .unknown
            }
            return Truth(TextPattern(glob: String(decoding: pattern, as: UTF8.self)).matches(bytes))
        case .match(let match, let place, let inner):
            var key = key
            if place >= 0 {
                guard case .integer(let id) = try value(place, row, key) else { return .unknown }
                key = .rowID(id)
            }
            if try rows(of: match)?.contains(key) == true { return .yes }
            if inner < 0 { return .no }
            return try value(inner, row, key).isNull ? .unknown : .no
        case .isInQuery(let left, let subquery):
            let left = try value(left, row, key)
            return try run(Int(subquery), row, key)?.contains(left) ?? .unknown
        case .exists(let subquery):
            return Truth(try run(Int(subquery), row, key)?.exists() == true)
        case .anyElement(let column, let condition):
            return Truth(try anyElement(column, condition, row, key))
        case .holds(let inner):
            return Truth(try truth(inner, row, key) == .yes)
        }
    }

    private func rows(of match: Int32) throws(RecordError) -> MatchedRows? {
        let place = Int(match)
        if matched[place] == nil, let view {
            let (match, isRanked) = program.matches[place]
            matched[place] = try MatchedRows(match, isRanked: isRanked, view)
        }
        return matched[place]
    }

    @inline(__always)
    private static func holds<T: Comparable>(_ operation: ComparisonOperator, _ a: T, _ b: T) -> Bool {
        switch operation {
        case .equal: a == b
        case .notEqual: a != b
        case .less: a < b
        case .lessOrEqual: a <= b
        case .greater: a > b
        case .greaterOrEqual: a >= b
        }
    }

    private func isIn(
        _ value: Operand, _ first: Int32, _ count: Int32, _ row: RowReader, _ key: RowKey
    ) throws(RecordError) -> Truth {
        if value.isNull { return .unknown }
        var result = Truth.no
        for index in Int(first)..<Int(first &+ count) {
            let item = try self.value(lists[index], row, key)
            if item.isNull {
                result = .unknown
            } else if value.compare(item) == 0 {
                return .yes
            }
        }
        return result
    }

    private func isInSet(_ value: Operand, _ set: Int) -> Truth {
        if value.isNull { return .unknown }
        let set = program.sets[set]
        if set.contains(value, &scratch) { return .yes }
        return set.hasNull ? .unknown : .no
    }

    private func like(
        _ inner: Int32, _ pattern: Int32, _ escape: Int32, _ row: RowReader, _ key: RowKey
    ) throws(RecordError) -> Truth {
        guard case .text(let bytes) = try value(inner, row, key), case .text(let pattern) = try value(pattern, row, key)
        else {
            return .unknown
        }
        var mark: Unicode.Scalar?
        if escape >= 0 {
            guard case .text(let bytes) = try value(escape, row, key) else { return .unknown }
            mark = String(decoding: bytes, as: UTF8.self).unicodeScalars.first
        }
        return Truth(TextPattern(like: String(decoding: pattern, as: UTF8.self), escape: mark).matches(bytes))
    }

    // MARK: Values

    private func value(_ place: Int32, _ row: RowReader, _ key: RowKey) throws(RecordError) -> Operand {
        switch values[Int(place)] {
        case .constant(let operand):
            return operand
        case .column(let slot):
            return Operand(row, slot)
        case .rowID:
            if case .rowID(let id) = key { return .integer(id) }
            return .null
        case .joinedColumn(let join, let slot):
            guard let other = try joined(Int(join), row) else { return .null }
            return Operand(other, slot)
        case .joinedRowID(let join):
            guard try joined(Int(join), row) != nil else { return .null }
            let node = program.joins[Int(join)]
            guard let parent = node.parent < 0 ? row : try joined(node.parent, row) else { return .null }
            return Operand(parent, node.slot)
        case .arithmetic(.concatenate, let left, let right):
            guard case .text(let first) = try value(left, row, key), case .text(let second) = try value(right, row, key)
            else {
                return .null
            }
            return .text(arena.join(first, second))
        case .arithmetic(let operation, let left, let right):
            let first = try value(left, row, key)
            return Calculation.result(operation, first, try value(right, row, key))
        case .negate(let inner):
            switch try value(inner, row, key) {
            case .double(let number): return .double(-number)
            case let operand: return operand.asWhole.map { Operand(whole: -$0) } ?? .null
            }
        case .noCase(let inner):
            guard case .text(let bytes) = try value(inner, row, key) else { return .null }
            return .text(arena.fold(bytes))
        case .rank(let match):
            return try rows(of: match)?.score(key).map { .double(-$0) } ?? .null
        case .excerpt(let excerpt, let slot):
            guard row.address(slot) != nil else { return .null }
            return .text(arena.keep(program.excerpts[Int(excerpt)].show(row.content(slot))))
        case .function(let function, let first, let count):
            return try call(function, Int(first), Int(count), row, key)
        case .suppliedColumn(let node, let slot):
            guard let other = supplied[Int(node)].row else { return .null }
            return Operand(other, slot)
        case .suppliedRowID(let node):
            let place = supplied[Int(node)]
            return place.row == nil ? .null : .integer(place.id)
        case .result(let number):
            return results[Int(number)]
        case .outer(let index):
            assert(outers != nil, "an outer value is read without an outer row")
            return outers?.values[Int(index)] ?? .null
        case .subquery(let subquery):
            return try run(Int(subquery), row, key)?.scalar() ?? .null
        case .gathered(let column, let function, let isKeys):
            return try gathered(column, function, isKeys, row, key)
        case .element:
            return element
        case .choice(let subject, let first, let count):
            return try choose(subject, Int(first), Int(count), row, key)
        case .subject:
            return subject
        case .condition(let condition):
            switch try truth(condition, row, key) {
            case .yes: return .integer(1)
            case .no: return .integer(0)
            case .unknown: return .null
            }
        }
    }

    private func choose(
        _ compared: Int32, _ first: Int, _ count: Int, _ row: RowReader, _ key: RowKey
    ) throws(RecordError) -> Operand {
        let around = subject
        defer { subject = around }
        if compared >= 0 {
            // In two steps, because the operand may be a CASE itself, which sets `subject`.
            let operand = try value(compared, row, key)
            subject = operand
        }
        for branch in 0..<count where try truth(lists[first + 2 * branch], row, key) == .yes {
            return try value(lists[first + 2 * branch + 1], row, key)
        }
        let otherwise = lists[first + 2 * count]
        return otherwise < 0 ? .null : try value(otherwise, row, key)
    }

    /// Returns a sub-query's executor, with the outer values of the row.
    private func run(_ place: Int, _ row: RowReader, _ key: RowKey) throws(RecordError) -> SubqueryAnswers? {
        guard let run = subqueryRun(place) else { return nil }
        let (_, first, count) = program.subqueries[place]
        for index in 0..<Int(count) { run.outers.values[index] = try value(lists[Int(first) + index], row, key) }
        return run
    }

    private func subqueryRun(_ place: Int) -> SubqueryAnswers? {
        if let run = subqueries[place] { return run }
        let run = view.flatMap { program.subqueries[place].subquery?.answers($0, cancellation) }
        subqueries[place] = run
        return run
    }

    private func anyElement(
        _ column: Int32, _ condition: Int32, _ row: RowReader, _ key: RowKey
    ) throws(RecordError) -> Bool {
        let list = try value(column, row, key)
        var isFound = false
        var scratch = Arena()
        let before = element
        defer { element = before }
        try list.forEachElement(&scratch) { (value) throws(RecordError) in
            element = value
            isFound = try truth(condition, row, key) == .yes
            return !isFound
        }
        return isFound
    }

    private func gathered(
        _ column: Int32, _ function: AggregateFunction, _ isKeys: Bool, _ row: RowReader, _ key: RowKey
    ) throws(RecordError) -> Operand {
        switch try value(column, row, key) {
        case .blob(let bytes) where isKeys: return .integer(Int64(try HeldKeys.count(in: bytes)))
        case .text(let bytes):
            var accumulator = Accumulator(function)
            var scratch = Arena()
            try ListValues.forEach(in: bytes, &scratch) { (value, _) throws(RecordError) in
                if function == .count { accumulator.addRow() } else { accumulator.add(value) }
                return true
            }
            return arena.operand(accumulator.result)
        default: return function == .count ? .integer(0) : .null
        }
    }

    private func joined(_ join: Int, _ row: RowReader) throws(RecordError) -> RowReader? {
        let node = program.joins[join]
        if node.isSupplied { return supplied[join].row }
        guard let parent = node.parent < 0 ? row : try joined(node.parent, row) else { return nil }
        return try related[join].find(parent)
    }

    private func call(
        _ function: QueryFunction, _ first: Int, _ count: Int, _ row: RowReader, _ key: RowKey
    ) throws(RecordError) -> Operand {
        if function == .coalesce {
            for index in first..<first + count {
                let operand = try value(lists[index], row, key)
                if !operand.isNull { return operand }
            }
            return .null
        }
        let operand = try value(lists[first], row, key)
        if function == .same {
            let other = try value(lists[first + 1], row, key)
            return .bool(operand.isNull || other.isNull ? operand.isNull && other.isNull : operand.compare(other) == 0)
        }
        if function == .typeof { return .text(arena.keep(operand.sqlType)) }
        if operand.isNull { return .null }
        switch (function, operand) {
        case (.nullif, _):
            return operand.compare(try value(lists[first + 1], row, key)) == 0 ? .null : operand
        case (.least, _), (.greatest, _):
            var best = operand
            for index in first + 1..<first + count {
                let other = try value(lists[index], row, key)
                guard let order = other.compare(best) else { return .null }
                // Of equal numbers the last is the least and the first the greatest, as in SQLite.
                if function == .least ? order <= 0 : order > 0 { best = other }
            }
            return best
        case (.lower, .text(let bytes)): return .text(arena.fold(bytes))
        case (.upper, .text(let bytes)): return .text(arena.keep(String(decoding: bytes, as: UTF8.self).uppercased()))
        case (.trim, .text(let bytes)): return .text(Calculation.trimmed(bytes))
        case (.length, .text(let bytes)): return .integer(Calculation.scalars(bytes))
        case (.characters, .text(let bytes)): return .integer(Calculation.characters(bytes))
        case (.length, .blob(let bytes)): return .integer(Int64(bytes.count))
        case (.abs, .double(let number)): return .double(Swift.abs(number))
        case (.abs, _): return operand.asWhole.map { Operand(whole: Swift.abs($0)) } ?? .null
        case (.round, _):
            let digits = count > 1 ? try value(lists[first + 1], row, key) : .integer(0)
            return Calculation.rounded(operand, digits)
        case (.substr, .text(let bytes)):
            let start = try value(lists[first + 1], row, key)
            let length = count > 2 ? try value(lists[first + 2], row, key) : .integer(.max)
            guard case .integer(let start) = start, case .integer(let length) = length else { return .null }
            return .text(Calculation.part(of: bytes, from: start, length: length))
        case (.ltrim, .text(let bytes)): return .text(Calculation.trimmed(bytes, atEnd: false))
        case (.rtrim, .text(let bytes)): return .text(Calculation.trimmed(bytes, atStart: false))
        case (.instr, .text(let bytes)):
            guard case .text(let part) = try value(lists[first + 1], row, key) else { return .null }
            return .integer(Calculation.place(of: part, in: bytes))
        case (.replace, .text(let bytes)):
            guard case .text(let part) = try value(lists[first + 1], row, key),
                case .text(let other) = try value(lists[first + 2], row, key)
            else { return .null }
            return .text(try arena.replace(part, by: other, in: bytes))
        case (.strftime, .text(let bytes)):
            let form = String(decoding: bytes, as: UTF8.self)
            let moment = try value(lists[first + 1], row, key)
            if count == 2, case .date(let seconds) = moment {
                return DateText.format(seconds, form).map { .text(arena.keep($0)) } ?? .null
            }
            guard let found = try self.moment(moment, first + 2..<first + count, row, key) else { return .null }
            return arena.operand(function.result(found, form))
        case (.date, .text(let bytes)) where count == 1:
            return DateText.parse(String(decoding: bytes, as: UTF8.self)).map { .date($0) } ?? .null
        case (.date, _), (.time, _), (.datetime, _), (.julianday, _), (.unixepoch, _):
            guard let found = try moment(operand, first + 1..<first + count, row, key) else { return .null }
            return arena.operand(function.result(found, nil))
        case (.castText, _), (.castInteger, _), (.castReal, _), (.castBool, _), (.castBlob, _), (.castDate, _),
            (.castUUID, _):
            return function.cast(operand, &arena)
        case (.decimalOrder, .text(let bytes)):
            return DecimalText(bytes).map { .blob(arena.keep($0.order)) } ?? .null
        case (.decimalOrder, _): return DecimalText(operand.value).map { .blob(arena.keep($0.order)) } ?? .null
        case (.distance, _):
            guard let latitude = operand.asDouble, let longitude = try value(lists[first + 1], row, key).asDouble,
                let otherLatitude = try value(lists[first + 2], row, key).asDouble,
                let otherLongitude = try value(lists[first + 3], row, key).asDouble
            else { return .null }
            return Sphere.distance((latitude, longitude), (otherLatitude, otherLongitude)).map { .double($0) } ?? .null
        default: return .null
        }
    }

    /// Returns the moment that a date function takes, after its modifiers; `nil` if there is none.
    private func moment(
        _ operand: Operand, _ modifiers: Range<Int>, _ row: RowReader, _ key: RowKey
    ) throws(RecordError) -> Moment? {
        var moment: Moment?
        switch operand {
        case .date(let seconds): moment = Moment(seconds: seconds)
        case .text(let bytes): moment = Moment(String(decoding: bytes, as: UTF8.self))
        default: moment = operand.asDouble.flatMap { Moment(number: $0) }
        }
        if moment == nil { return nil }
        for place in modifiers {
            guard case .text(let bytes) = try value(lists[place], row, key),
                moment?.apply(String(decoding: bytes, as: UTF8.self), isFirst: place == modifiers.lowerBound) == true
            else { return nil }
        }
        return moment
    }
}
