import Foundation
import MakoRecords

extension RecordModel {
    /// Migrates the model, or throws the reason of the refusal.
    mutating func migrate(to wanted: EntitySchema, dropsRetired: Bool) throws(Refusal) {
        var wanted = wanted
        let old = wanted.originalName.flatMap { tables[wanted.name] == nil && tables[$0] != nil ? $0 : nil }
        wanted.originalName = nil
        guard var table = tables[wanted.name] ?? old.flatMap({ tables[$0] }) else {
            tables[wanted.name] = ModelTable(wanted.withoutOldNames, number: nextNumber)
            nextNumber += 1
            return
        }
        if table.schema.key.isOther(than: wanted.key, of: wanted) { return try rekey(to: wanted) }
        try table.migrate(to: wanted, dropsRetired: dropsRetired)
        if let old { tables[old] = nil }
        tables[wanted.name] = table
    }
}

extension ModelTable {
    fileprivate mutating func migrate(to wanted: EntitySchema, dropsRetired: Bool) throws(Refusal) {
        var places: [Int] = []
        var conversions: [(place: Int, column: ColumnSchema)] = []
        // By the names before: those of the table change meanwhile.
        let origins = wanted.columns.map { origin(of: $0, wanted) }
        for (column, origin) in zip(wanted.columns, origins) {
            var clean = column
            clean.originalName = nil
            guard let place = origin else {
                if !rows.isEmpty && !column.isOptional && column.defaultValue.isNull { throw .incompatible }
                places.append(columns.count)
                columns.append(clean)
                try convert { (values) throws(Refusal) in
                    values.append(clean.type.coerced(clean.defaultValue) ?? .null)
                }
                continue
            }
            places.append(place)
            let before = columns[place].type
            let isKept = before == column.type || Set([before, column.type]) == [.integer, .reference]
            let hasNull = rows.contains { $0.values[place].isNull }
            if !isKept || !column.isOptional && hasNull { conversions.append((place, clean)) }
            columns[place] = clean
        }
        for (place, column) in conversions {
            try convert { (values) throws(Refusal) in
                guard let value = ModelTable.converted(values[place], to: column) else { throw .conversion }
                values[place] = value
            }
        }
        live = places
        if dropsRetired {
            let kept = columns.indices.filter { places.contains($0) }
            columns = kept.map { columns[$0] }
            try convert { (values) throws(Refusal) in
                let all = values
                values = kept.map { all[$0] }
            }
            live = places.map { place in kept.firstIndex(of: place) ?? 0 }
        }
        take(wanted.withoutOldNames)
        for index in wanted.indexes where index.isUnique { try checkUnique(index) }
    }

    /// The column that becomes the wanted one: of its name, else of its former name, else a retired one of its name.
    private func origin(of column: ColumnSchema, _ wanted: EntitySchema) -> Int? {
        if !isHomeless(column, wanted) { return place(column.name) }
        if let old = column.originalName {
            if let place = place(old) { return place }
            if !wanted.columns.contains(where: { $0.name == old }), let place = retiredPlace(old) { return place }
        }
        return retiredPlace(column.name)
    }

    /// Whether the table has no column of the name, or another wanted column takes it.
    private func isHomeless(_ column: ColumnSchema, _ wanted: EntitySchema) -> Bool {
        place(column.name) == nil
            || wanted.columns.contains { $0.originalName == column.name && isHomeless($0, wanted) }
    }

    private func retiredPlace(_ name: String) -> Int? {
        columns.indices.first { !live.contains($0) && columns[$0].name == name }
    }

    /// A value under another type; nil when it cannot be one.
    private static func converted(_ value: Value, to column: ColumnSchema) -> Value? {
        if value.isNull {
            if column.isOptional { return .null }
            return column.defaultValue.isNull ? nil : column.defaultValue
        }
        if let fitting = column.type.coerced(value) { return fitting }
        switch (column.type, value) {
        case (.text, .integer(let number)): return .text(String(number))
        case (.text, .unsigned(let number)): return .text(String(number))
        case (.text, .double(let number)): return .text(String(number))
        case (.text, .bool(let flag)): return .text(flag ? "true" : "false")
        case (.text, .uuid(let high, let low)): return .text(text(ofUUID: high, low))
        case (.text, .date(let seconds)): return .text(text(ofDate: seconds))
        case (.text, .blob(let bytes)): return String(validating: bytes, as: UTF8.self).map(Value.text)
        case (.blob, .text(let text)): return .blob(Array(text.utf8))
        case (.integer, .text(let text)), (.reference, .text(let text)): return Int64(text).map(Value.integer)
        case (.unsigned, .text(let text)): return UInt64(text).map(Value.unsignedInteger)
        case (.double, .text(let text)): return Double(text).map(Value.double)
        case (.bool, .text(let text)):
            return ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false][text.lowercased()]
                .map(Value.bool)
        case (.integer, .bool(let flag)), (.unsigned, .bool(let flag)): return .integer(flag ? 1 : 0)
        case (.double, .bool(let flag)): return .double(flag ? 1 : 0)
        case (.double, .date(let seconds)): return .double(seconds)
        case (.date, .double(let seconds)): return .date(seconds)
        default: return nil
        }
    }

    /// An identifier as the system spells it.
    private static func text(ofUUID high: UInt64, _ low: UInt64) -> String {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes in
            UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)).uuidString
        }
    }

    /// A date as text, by the system's calendar.
    private static func text(ofDate seconds: Double) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let whole = seconds.rounded(.down)
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSinceReferenceDate: whole))
        func digits(_ number: Int?, _ count: Int) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = "\(digits(parts.year, 4))-\(digits(parts.month, 2))-\(digits(parts.day, 2))"
        let time = "\(digits(parts.hour, 2)):\(digits(parts.minute, 2)):\(digits(parts.second, 2))"
        let fraction = seconds - whole
        if fraction != 0 { return "\(day) \(time)\(String(fraction).dropFirst())" }
        return time == "00:00:00" ? day : "\(day) \(time)"
    }
}

extension KeySchema {
    /// Whether it is made otherwise than another one is, names aside.
    fileprivate func isOther(than key: KeySchema, of wanted: EntitySchema) -> Bool {
        guard case .columns(let old) = self, case .columns(let new) = key else {
            if case .rowID = self, case .rowID = key { return false }
            return true
        }
        let before = new.map { name in wanted.column(named: name)?.originalName ?? name }
        return old != before
    }
}

extension EntitySchema {
    /// As the catalogue keeps it: former names are forgotten.
    var withoutOldNames: EntitySchema {
        var copy = self
        copy.originalName = nil
        for place in copy.columns.indices { copy.columns[place].originalName = nil }
        return copy
    }
}
