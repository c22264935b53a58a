// Expressions: parameters, types, functions.
extension Binder {
    mutating func bind(_ expr: Expr) throws(RecordError) -> BoundExpr {
        try nested(expr.position) { (binder) throws(RecordError) in try binder.bindLevel(expr) }
    }

    private mutating func bindLevel(_ expr: Expr) throws(RecordError) -> BoundExpr {
        switch expr {
        case .literal(let value, _):
            return .constant(value)
        case .parameter(let parameter, let at):
            return .constant(try Binder.value(of: parameter, at, parameters, named))
        case .column(let path, let at):
            if let results { return try results.value(path, at) }
            if let value = try scopedValue(path, at) { return value }
            if let rank = try rank(path, at) { return rank }
            let column = try resolve(path, at)
            if column.isSealed {
                throw at.error(
                    "\(column.path) is encrypted, so that conditions can only test whether it is nil: "
                        + "IS NULL, IS NOT NULL, == nil, != nil")
            }
            return .column(column)
        case .negate(let inner):
            let bound = try bind(inner)
            guard kind(bound).isNumber || kind(bound) == .null else {
                throw inner.position.error("\(describe(bound)), which has no negative")
            }
            return try constantFolded(.negate(bound))
        case .noCase(let inner):
            let bound = try bind(inner)
            guard kind(bound) == .text || kind(bound) == .null else {
                throw inner.position.error("\(describe(bound)), not text")
            }
            return bound
        case .binary(let inner):
            return try bind(inner)
        case .arithmetic(let operation, let left, let right, let at):
            return try bindArithmetic(operation, left, right, at)
        case .function(let name, let arguments, let at):
            return try bindFunction(name, arguments, at)
        case .subquery(let subquery):
            return try bindScalar(subquery)
        case .collection(let path, let function, let rest, let at):
            return try bindCollection(path, function, rest, at)
        case .choice(let choice):
            return try bind(choice)
        case .subject(let at):
            guard let subject else { throw at.error("no CASE is around this") }
            return subject.compared
        case .condition(let condition, _):
            let bound = try bind(condition)
            guard case .constant(let flag) = bound else { return .condition(bound) }
            return .constant(flag.map { .integer($0 ? 1 : 0) } ?? .null)
        }
    }

    /// Returns a boolean as 1 or 0, for comparison with conditions; other expressions unchanged.
    static func counted(_ expr: BoundExpr) -> BoundExpr {
        switch expr {
        case .constant(.bool(let flag)): .constant(.integer(flag ? 1 : 0))
        default: kind(expr) == .bool ? .condition(.truth(expr)) : expr
        }
    }

    static func value(
        of parameter: Parameter, _ at: SourcePosition, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> Value {
        switch parameter {
        case .position(let number):
            if parameters.indices.contains(number) { return parameters[number] }
            let given = parameters.count == 1 ? "1 was" : "\(parameters.count) were"
            throw at.error("parameter \(number + 1) has no value; \(given) given")
        case .name(let name):
            if let value = named[name] { return value }
            throw at.error(
                "parameter :\(name) has no value", nearest: Spelling.nearest(to: name, in: Array(named.keys)))
        }
    }

    /// Binds an expression whose value is only tested for NULL, or passed on as stored, so that it is not decrypted.
    mutating func bindUnseen(_ expr: Expr) throws(RecordError) -> BoundExpr {
        guard case .column(let path, let at) = expr, results == nil else { return try bind(expr) }
        if let value = try scopedValue(path, at) { return value }
        if let rank = try rank(path, at) { return rank }
        return .column(try resolve(path, at))
    }

    private mutating func bindArithmetic(
        _ operation: ArithmeticOperator, _ left: Expr, _ right: Expr, _ at: SourcePosition
    ) throws(RecordError) -> BoundExpr {
        var first = try bind(left)
        var second = try bind(right)
        if left.isCondition || right.isCondition {
            (first, second) = (Binder.counted(first), Binder.counted(second))
        }
        let (a, b) = (kind(first), kind(second))
        if operation == .concatenate {
            // A number beside a text is converted as by CAST.
            if a == .text, b.isNumber { second = .function(.castText, [second]) }
            if b == .text, a.isNumber { first = .function(.castText, [first]) }
            for (bound, source) in [(first, left), (second, right)] where kind(bound) != .text && kind(bound) != .null {
                throw source.position.error("\(describe(bound)); || joins texts")
            }
        } else {
            let isDate =
                (a == .date && (b.isNumber || b == .null) && (operation == .add || operation == .subtract))
                || (b == .date && (a.isNumber || a == .null) && operation == .add)
                || (a == .date && b == .date && operation == .subtract)
            if !isDate {
                for (bound, source) in [(first, left), (second, right)]
                where !kind(bound).isNumber && kind(bound) != .null {
                    throw source.position.error("\(describe(bound)), which cannot be calculated with")
                }
            }
        }
        return try constantFolded(.arithmetic(operation, first, second))
    }

    private mutating func bindFunction(
        _ name: String, _ arguments: [Expr], _ at: SourcePosition
    ) throws(RecordError) -> BoundExpr {
        if let excerpt = try excerpt(name, arguments, at) { return excerpt }
        let arguments = name == "distance" ? Binder.withPlaces(arguments) : arguments
        let function: QueryFunction
        if name == "ifnull" {
            function = .coalesce
        } else if let known = QueryFunction(rawValue: name), known != .decimalOrder,
            AggregateFunction(rawValue: name) == nil || arguments.count > 1
        {
            function = known
        } else {
            let names = [
                "lower", "upper", "length", "characters", "abs", "round", "coalesce", "ifnull", "nullif", "trim",
                "substr", "time", "datetime", "julianday", "unixepoch", "iif", "cast",
                "date", "ltrim", "rtrim", "replace", "instr", "strftime", "distance",
                "highlight", "snippet", "typeof",
            ]
            if let bare = AggregateFunction(marked: name) {
                if arguments.count != 1, bare != .count || !arguments.isEmpty {
                    throw at.error("\(bare.rawValue) takes 1 value, not \(arguments.count)")
                }
                throw at.error(
                    "\(bare.rawValue) is of many rows: write it among the columns, in HAVING or in ORDER BY")
            }
            let hint = Parser.hint(ofFunction: name)
            let nearest = hint.isEmpty ? Spelling.nearest(to: name, in: names) : nil
            throw at.error("there is no function \(name)\(hint)", nearest: nearest)
        }
        let counts: ClosedRange<Int> =
            switch function {
            case .lower, .upper, .length, .characters, .abs, .trim, .ltrim, .rtrim: 1...1
            case .castText, .castInteger, .castReal, .castBlob, .castBool, .castDate, .castUUID, .typeof: 1...1
            case .date, .time, .datetime, .julianday, .unixepoch: 0...100
            case .strftime: 1...100
            case .round: 1...2
            case .nullif, .instr, .same: 2...2
            case .least, .greatest: 2...100
            case .replace: 3...3
            case .substr: 2...3
            case .coalesce: 1...100
            case .distance: 4...4
            case .decimalOrder: 1...1
            }
        guard counts.contains(arguments.count) else {
            let wanted = counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
            throw at.error("\(name) takes \(wanted == "1" ? "1 value" : "\(wanted) values"), not \(arguments.count)")
        }
        var bound: [BoundExpr] = []
        for argument in arguments { bound.append(try bind(argument)) }
        if arguments.contains(where: \.isCondition) { bound = bound.map(Binder.counted) }
        if [.least, .greatest].contains(function), zip(arguments, bound).contains(where: { isNoCase($0, $1) }) {
            throw at.error("\(name) of several values compares texts by bytes; write CASE for another collation")
        }
        try checkArguments(function, bound, arguments)
        if function.takesMoment { takeNow(&bound, at: function == .strftime ? 1 : 0) }
        if function == .nullif, let choice = nullIf(bound, arguments) { return try constantFolded(choice) }
        return try constantFolded(.function(function, bound))
    }

    private func checkArguments(_ function: QueryFunction, _ bound: [BoundExpr], _ sources: [Expr]) throws(RecordError)
    {
        let kinds = bound.map(kind)
        func isAlike(_ others: ArraySlice<ValueKind>, _ found: ValueKind) -> Bool {
            others.allSatisfy { $0 == .null || $0 == found || ($0.isNumber && found.isNumber) }
        }
        for (place, found) in kinds.enumerated() where found != .null {
            let isRight =
                switch function {
                case .lower, .upper, .characters, .trim, .ltrim, .rtrim, .replace, .instr: found == .text
                case .length: found == .text || found == .blob
                case .abs, .round: found.isNumber
                case .substr: place == 0 ? found == .text : found == .whole
                case .strftime where place == 0: found == .text
                case .strftime, .date, .time, .datetime, .julianday, .unixepoch:
                    found == .text || (place == (function == .strftime ? 1 : 0) && (found == .date || found.isNumber))
                case .castText, .castInteger, .castReal, .castBlob, .castBool, .castDate, .castUUID:
                    function.casts(found) == true
                case .same, .typeof: true
                case .coalesce, .nullif: isAlike(kinds[..<place], found)
                case .least, .greatest: found != .decimal && isAlike(kinds[..<place], found)
                case .distance: found.isNumber
                case .decimalOrder: found == .decimal
                }
            if !isRight {
                throw sources[place].position.error(
                    "\(describe(bound[place])), which \(function.rawValue) does not take")
            }
        }
        if function.takesMoment { try checkMoment(bound, sources, from: function == .strftime ? 1 : 0) }
        if function == .strftime, case .text(let pattern)? = bound[0].constant, let mark = DateText.unknownMark(pattern)
        {
            throw sources[0].position.error(
                "strftime knows no %\(mark); there are %Y %m %d %H %M %S %f %j %w %s and %%")
        }
    }

    /// Computes an expression without columns.
    private func constantFolded(_ expr: BoundExpr) throws(RecordError) -> BoundExpr {
        switch expr {
        case .arithmetic(_, .constant, .constant), .negate(.constant):
            return .constant(try expr.computed())
        case .function(_, let arguments) where arguments.allSatisfy({ $0.constant != nil }):
            return .constant(try expr.computed())
        default:
            return expr
        }
    }

    /// Returns the kind of an expression's values.
    func kind(_ expr: BoundExpr) -> ValueKind { expr.kind }

    static func kind(_ expr: BoundExpr) -> ValueKind {
        switch expr {
        case .column(let column): return column.kind
        case .constant(let value): return ValueKind(value)
        case .noCase: return .text
        case .result(_, let kind, _): return kind
        case .rank: return .real
        case .excerpt: return .text
        case .negate(let inner): return kind(inner)
        case .arithmetic(.concatenate, _, _): return .text
        case .arithmetic(_, let left, let right):
            let (a, b) = (kind(left), kind(right))
            if a == .date && b == .date { return .real }
            if a == .date || b == .date { return .date }
            return a == .null && b == .null ? .null : (a == .real || b == .real ? .real : .whole)
        case .function(let function, let arguments):
            switch function {
            case .lower, .upper, .trim, .substr, .ltrim, .rtrim, .replace, .strftime, .time, .castText, .typeof:
                return .text
            case .length, .characters, .instr, .unixepoch, .castInteger: return .whole
            case .date, .datetime, .castDate: return .date
            case .julianday, .castReal: return .real
            case .castBlob: return .blob
            case .castBool, .same: return .bool
            case .castUUID: return .uuid
            case .abs: return kind(arguments[0])
            case .round: return .real
            case .nullif: return kind(arguments[0])
            case .coalesce, .least, .greatest:
                let kinds = arguments.map(kind).filter { $0 != .null }
                return kinds.contains(.real) ? .real : (kinds.first ?? .null)
            case .distance: return .real
            case .decimalOrder: return .blob
            }
        case .outer(let value): return value.kind
        case .subquery(let subquery): return subquery.kind
        case .gathered(let gathered): return gathered.kind
        case .element: return .null
        case .choice(let choice): return choice.kind
        case .subject(let kind, _): return kind
        case .condition: return .whole
        }
    }
}

extension BoundExpr {
    /// The kind of its values.
    package var kind: ValueKind { Binder.kind(self) }
}

extension Binder {
    /// Replaces `place` in the position of a latitude and a longitude by the columns of a coordinate.
    static func withPlaces(_ arguments: [Expr]) -> [Expr] {
        guard arguments.count == 2 || arguments.count == 3 else { return arguments }
        return arguments.flatMap { argument -> [Expr] in
            guard case .column(var path, let at) = argument, let last = path.popLast() else { return [argument] }
            return ["latitude", "longitude"].map { .column(path + [last + "_" + $0], at: at) }
        }
    }
}
