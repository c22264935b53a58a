import GRDB

/// An order coded by hand, columns read by position, for SQLite's C interface and for GRDB.
struct PlainOrder: OrderLike, SQLiteRecord, FetchableRecord, TableRecord {
    static let table = "Orders"
    static let databaseTableName = table
    static let columns = [
        "OrderID", "CustomerID", "EmployeeID", "OrderDate", "RequiredDate", "ShippedDate", "ShipVia", "Freight",
        "ShipName", "ShipAddress", "ShipCity", "ShipRegion", "ShipPostalCode", "ShipCountry",
    ]
    static var databaseSelection: [any SQLSelectable] { columns.map { Column($0) } }
    static let schema = [
        """
        CREATE TABLE Orders (OrderID INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, CustomerID TEXT, EmployeeID INTEGER,
            OrderDate DATETIME, RequiredDate DATETIME, ShippedDate DATETIME, ShipVia INTEGER, Freight NUMERIC DEFAULT 0,
            ShipName TEXT, ShipAddress TEXT, ShipCity TEXT, ShipRegion TEXT, ShipPostalCode TEXT, ShipCountry TEXT)
        """
    ]

    let orderID: Int
    let customerID: String?
    let employeeID: Int?
    let orderDate: String?
    let requiredDate: String?
    let shippedDate: String?
    let shipVia: Int?
    let freight: Double?
    let shipName: String?
    let shipAddress: String?
    let shipCity: String?
    let shipRegion: String?
    let shipPostalCode: String?
    let shipCountry: String?

    init(_ row: SQLiteStatement) {
        orderID = row.int(0)
        customerID = row.textOrNil(1)
        employeeID = row.intOrNil(2)
        orderDate = row.textOrNil(3)
        requiredDate = row.textOrNil(4)
        shippedDate = row.textOrNil(5)
        shipVia = row.intOrNil(6)
        freight = row.doubleOrNil(7)
        shipName = row.textOrNil(8)
        shipAddress = row.textOrNil(9)
        shipCity = row.textOrNil(10)
        shipRegion = row.textOrNil(11)
        shipPostalCode = row.textOrNil(12)
        shipCountry = row.textOrNil(13)
    }

    init(row: Row) {
        orderID = row[0]
        customerID = row[1]
        employeeID = row[2]
        orderDate = row[3]
        requiredDate = row[4]
        shippedDate = row[5]
        shipVia = row[6]
        freight = row[7]
        shipName = row[8]
        shipAddress = row[9]
        shipCity = row[10]
        shipRegion = row[11]
        shipPostalCode = row[12]
        shipCountry = row[13]
    }

    init(_ data: OrderData) {
        orderID = data.orderID
        customerID = data.customerID
        employeeID = data.employeeID
        orderDate = data.orderDate
        requiredDate = data.requiredDate
        shippedDate = data.shippedDate
        shipVia = data.shipVia
        freight = data.freight
        shipName = data.shipName
        shipAddress = data.shipAddress
        shipCity = data.shipCity
        shipRegion = data.shipRegion
        shipPostalCode = data.shipPostalCode
        shipCountry = data.shipCountry
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(orderID, 1)
        statement.bind(customerID, 2)
        statement.bind(employeeID, 3)
        statement.bind(orderDate, 4)
        statement.bind(requiredDate, 5)
        statement.bind(shippedDate, 6)
        statement.bind(shipVia, 7)
        statement.bind(freight, 8)
        statement.bind(shipName, 9)
        statement.bind(shipAddress, 10)
        statement.bind(shipCity, 11)
        statement.bind(shipRegion, 12)
        statement.bind(shipPostalCode, 13)
        statement.bind(shipCountry, 14)
    }
}

/// An order whose coding the compiler writes.
struct CodableOrder: OrderLike, Codable, FetchableRecord, TableRecord {
    static let databaseTableName = PlainOrder.table

    let orderID: Int
    let customerID: String?
    let employeeID: Int?
    let orderDate: String?
    let requiredDate: String?
    let shippedDate: String?
    let shipVia: Int?
    let freight: Double?
    let shipName: String?
    let shipAddress: String?
    let shipCity: String?
    let shipRegion: String?
    let shipPostalCode: String?
    let shipCountry: String?

    enum CodingKeys: String, CodingKey {
        case orderID = "OrderID"
        case customerID = "CustomerID"
        case employeeID = "EmployeeID"
        case orderDate = "OrderDate"
        case requiredDate = "RequiredDate"
        case shippedDate = "ShippedDate"
        case shipVia = "ShipVia"
        case freight = "Freight"
        case shipName = "ShipName"
        case shipAddress = "ShipAddress"
        case shipCity = "ShipCity"
        case shipRegion = "ShipRegion"
        case shipPostalCode = "ShipPostalCode"
        case shipCountry = "ShipCountry"
    }
}

final class SQLiteOrders: OrderEngine {
    static let name = "SQLite"

    private let store: SQLiteStore

    init(directory: String, count: Int) throws {
        store = try SQLiteStore(directory: directory, schema: PlainOrder.schema, durability: .relaxed)
        try store.write { try store.insert((0..<count).lazy.map { PlainOrder(OrderData(number: $0)) }) }
        try store.settle()
    }

    func fetchAll() throws -> [PlainOrder] { try store.fetch(PlainOrder.self) }
    func close() throws { try store.close() }
}

/// The requirements of GRDB's orders.
protocol GRDBOrder: OrderLike, FetchableRecord, TableRecord {
    static var engineName: String { get }
}

extension PlainOrder: GRDBOrder { static var engineName: String { "GRDB hand-written" } }
extension CodableOrder: GRDBOrder { static var engineName: String { "GRDB Codable" } }

final class GRDBOrders<Order: GRDBOrder>: OrderEngine {
    static var name: String { Order.engineName }

    private let pool: DatabasePool

    init(directory: String, count: Int) throws {
        try SQLiteOrders(directory: directory, count: count).close()
        pool = try DatabasePool(directory: directory, durability: .relaxed)
    }

    func fetchAll() throws -> [Order] { try pool.read { try Order.fetchAll($0) } }
    func close() throws { try pool.close() }
}
